#!/usr/bin/env python3
"""What judges the runs with the kernel, without an emulated machine: wrong ICRCs are seen, failures are not explained away, the page
tells what was run.
"""
import os
import stat
import struct
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "programs"))

import deviations  # noqa: E402
import harness  # noqa: E402
import image  # noqa: E402
import interop  # noqa: E402
import page  # noqa: E402
import roce_check  # noqa: E402
import rows  # noqa: E402
import wire  # noqa: E402

CAPTURE = os.path.join(HERE, "..", "data", "01-rc_pingpong.pcap")  # of two guests, 10.77.0.2 and 10.77.0.3
ROW = rows.pingpong("rc")
PLACE = rows.Place("udp", "ipv4", 1024)


def checksum_free_ipv6(frame):
    """The same RoCE packet over IPv6, its ICRC computed bit by bit as the text of IBTA 7.8.1 and A17.3.3 has it."""
    packet, header = roce_check.roce_of(frame)
    udp = packet[header:-4]
    ip = struct.pack(">IHBB", 6 << 28 | 5 << 20 | 77, len(udp) + 4, 17, 64) + bytes(range(16)) + bytes(range(16, 32))
    masked = bytearray(b"\xff" * 8 + ip + udp)
    for place in (9, 10, 11, 15, 8 + 40 + 6, 8 + 40 + 7, 8 + 40 + 8 + 4):
        masked[place] = 0xFF
    masked[8] |= 0x0F
    remainder = 0xFFFFFFFF
    for octet in masked:
        for bit in range(8):  # the least significant bit of an octet is sent first
            carry = (remainder >> 31) ^ (octet >> bit & 1)
            remainder = (remainder << 1 & 0xFFFFFFFF) ^ (0x04C11DB7 if carry else 0)
    sent = int(f"{remainder ^ 0xFFFFFFFF:032b}"[::-1], 2)
    return frame[:12] + b"\x86\xdd" + ip + udp + struct.pack("<I", sent)


class Icrc(unittest.TestCase):
    def setUp(self):
        self.frames = [octets for octets, _, _ in roce_check.packets(CAPTURE) if roce_check.icrc_is_right(octets)]

    def test_every_bit_that_counts_is_seen_over_ipv4_and_ipv6(self):
        for frame, ip in ((self.frames[0], 20), (checksum_free_ipv6(self.frames[0]), 40)):
            self.assertIs(roce_check.icrc_is_right(frame), True)
            for place in (14 + ip - 1, 14 + ip + 8, 14 + ip + 8 + 11, len(frame) - 20, len(frame) - 1):  # address, BTH, payload, ICRC
                broken = bytearray(frame)
                broken[place] ^= 0x10
                self.assertIs(roce_check.icrc_is_right(bytes(broken)), False, place)

    def test_what_changes_on_the_way_does_not_count(self):
        frame = checksum_free_ipv6(self.frames[0])
        for place in (14 + 1, 14 + 3, 14 + 7, 14 + 40 + 6, 14 + 40 + 8 + 4):  # traffic class, flow label, hop limit, checksum, FECN
            changed = bytearray(frame)
            changed[place] ^= 0x11
            self.assertIs(roce_check.icrc_is_right(bytes(changed)), True, place)


class Judging(unittest.TestCase):
    def judged(self, row, change=None, ours=2):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(wire, "OURS", ours):
            path = os.path.join(folder, "wire.pcap")
            with open(CAPTURE, "rb") as source, open(path, "wb") as target:
                octets = bytearray(source.read())
                if change:
                    change(octets)
                target.write(octets)
            return interop.judge(row, path, CAPTURE)

    @staticmethod
    def break_last(octets):
        frame = [frame for frame, _, _ in roce_check.packets(CAPTURE) if roce_check.icrc_is_right(frame)][0]
        octets[octets.index(frame) + len(frame) - 1] ^= 1

    def test_counts_what_both_sides_sent(self):
        self.assertEqual(self.judged(ROW), (200, 0))

    def test_one_wrong_icrc_is_a_failure(self):
        with self.assertRaisesRegex(harness.Failure, "1 of .* have a wrong ICRC"):
            self.judged(ROW, self.break_last)

    def test_a_side_that_is_silent_is_a_failure(self):
        with self.assertRaisesRegex(harness.Failure, "no packet of Verbena"):
            self.judged(ROW, ours=9)

    def test_a_fault_that_hits_nothing_is_a_failure(self):
        row = rows.pingpong("rc", faults=("corrupt every=29",))
        with self.assertRaisesRegex(harness.Failure, "no packet was hit"):
            self.judged(row)


class Reasons(unittest.TestCase):
    KNOWN = [deviations.Deviation("^ibv_rc.*raw", "exit status 1", "as the test says")]

    def outcome(self, link, problem):
        return interop.Outcome(ROW, rows.Place(link, "ipv4", 1024), problem, 10, 0, 1.0)

    def complaints(self, *outcomes):
        with unittest.mock.patch.object(deviations, "DEVIATIONS", self.KNOWN):
            return list(deviations.complaints(outcomes))

    def test_only_the_known_failure_of_the_known_row_is_none(self):
        self.assertEqual(self.complaints(self.outcome("raw", "exit status 1\nmore")), [])
        self.assertEqual(len(self.complaints(self.outcome("udp", "exit status 1"), self.outcome("raw", "exit status 1"))), 1)
        self.assertEqual(len(self.complaints(self.outcome("raw", "did not end"))), 1)

    def test_a_reason_that_is_no_longer_true_is_told(self):
        self.assertRegex(self.complaints(self.outcome("raw", ""))[0], "works, and deviations.py says")

    def test_cells_say_which_way_it_worked(self):
        both = [interop.Outcome(ROW, rows.Place("udp", "ipv4", 1024, ours), "", 1, 0, 1.0) for ours in ("server", "client")]
        self.assertEqual(page.cell(both), "both ways")
        self.assertEqual(page.cell([both[0], both[1]._replace(problem="exit status 1")]), "as server")
        self.assertEqual(page.cell([one._replace(problem="exit status 1") for one in both]), "no")

    def test_the_page_keeps_what_stands_outside_its_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
            page.rewrite(path, [self.outcome("udp", "")], "6.1")
            with open(path, encoding="utf-8") as file:
                text = file.read()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text, text)
        self.assertIn("| ibv_rc_pingpong | as server |", text)


class Tables(unittest.TestCase):
    def test_the_short_table_has_what_the_long_one_has(self):
        long, short = set(rows.table()), list(rows.short_table())
        self.assertEqual([case for case in short if case not in long], [])
        self.assertEqual(len(short), 24)

    def test_each_run_is_there_once(self):
        names = [(row.name, place) for row, place in rows.table()]
        self.assertEqual(len(names), len(set(names)))


class Image(unittest.TestCase):
    def test_modules_stand_behind_those_that_they_need(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(image, "MODULES", ["one", "three"]):
            for name, needs in (("one", "two-dash,three"), ("two-dash", ""), ("three", "two-dash")):
                with open(os.path.join(folder, f"{name}.ko"), "wb") as file:
                    file.write(b"\0name=x\0depends=" + needs.encode() + b"\0")
            order = [os.path.basename(path) for path in image.modules_in_order(folder)]
            self.assertEqual(order, ["two-dash.ko", "three.ko", "one.ko"])
            os.remove(os.path.join(folder, "two-dash.ko"))
            with self.assertRaisesRegex(image.Unbuildable, "two_dash"):
                image.modules_in_order(folder)

    def test_the_archive_is_what_the_kernel_reads(self):
        with tempfile.TemporaryFile() as file:
            archive = image.Archive(file)
            archive.add("/a/b", b"12345", 0o755)
            archive.end()
            file.seek(0)
            octets = file.read()
        entries = []
        while octets:
            self.assertEqual(octets[:6], b"070701")
            fields = [int(octets[place:place + 8], 16) for place in range(6, 110, 8)]
            name = octets[110:110 + fields[11] - 1].decode()
            start = (110 + fields[11] + 3) // 4 * 4
            entries.append((name, fields[1], octets[start:start + fields[6]]))
            octets = octets[start + (fields[6] + 3) // 4 * 4:]
        self.assertEqual(entries, [("a", stat.S_IFDIR | 0o755, b""), ("a/b", stat.S_IFREG | 0o755, b"12345"), ("TRAILER!!!", 0, b"")])


if __name__ == "__main__":
    unittest.main()
