#!/usr/bin/env python3
"""The harness itself, on plain TCP programs: failures are seen, nothing survives, captures are judged rightly."""
import glob
import os
import stat
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True

import bad_luck  # noqa: E402
import harness  # noqa: E402
import roce_check  # noqa: E402
import waiting  # noqa: E402

# Stands for `verbena`: drops the options of exec and runs the program.
STAND_IN = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
SERVER = ["python3", "-c", "import socket; s = socket.create_server(('', {port})); c, _ = s.accept(); print(c.recv(9))"]
CLIENT = ["python3", "-c", "import socket; socket.create_connection(('{server}', {port})).send(b'hello')"]


def is_running(process):
    """Whether it is there and has not ended: one whose parent is gone stays until init looks for it, which may take its time."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Harness(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.verbena = os.path.join(self.place.name, "verbena")
        with open(self.verbena, "w", encoding="ascii") as file:
            file.write(STAND_IN)
        os.chmod(self.verbena, stat.S_IRWXU)

    def fabric(self, nodes=2):
        return harness.Fabric(self.verbena, "shm", nodes)

    def test_pair_that_works_passes(self):
        with self.fabric() as fabric:
            done = harness.pair(fabric, SERVER, CLIENT, timeout=20)
            self.assertIn("hello", done.server.out)

    def test_failing_client_is_a_failure_that_shows_its_output(self):
        with self.fabric() as fabric, self.assertRaisesRegex(harness.Failure, "(?s)exit status 3.*went wrong"):
            harness.pair(fabric, SERVER, ["sh", "-c", "echo went wrong; exit 3"], timeout=90)  # which is not waited for

    def test_server_that_ends_at_once_is_a_failure(self):
        with self.fabric() as fabric, self.assertRaisesRegex(harness.Failure, "ended too soon"):
            harness.pair(fabric, ["false"], CLIENT)

    def test_hanging_pair_is_a_failure_and_does_not_survive(self):
        with self.fabric() as fabric:
            with self.assertRaisesRegex(harness.Failure, "not finished"):
                harness.pair(fabric, SERVER, ["sleep", "60"], timeout=0.3)
            pids = [program.process.pid for program in fabric.programs]
        self.assertEqual([pid for pid in pids if os.path.exists(f"/proc/{pid}")], [])

    def test_grandchildren_do_not_survive(self):
        self.ends_with_its_program("sleep 61 & echo $!; wait")

    def test_sessions_of_their_own_do_not_survive(self):
        self.ends_with_its_program("setsid sh -c 'echo $$; exec sleep 61' & wait")

    def ends_with_its_program(self, script):
        with self.fabric(1) as fabric:
            program = fabric.start(fabric.nodes[0], ["sh", "-c", script])
            harness.wait_until(lambda: program.out.strip(), time.monotonic() + 10, "the child runs", [program])
            child = int(program.out)
        waiting.until(lambda: not is_running(child), 10, "the child has ended")

    def test_two_fabrics_never_share_a_node(self):
        with self.fabric(80) as one, self.fabric(80) as two:
            self.assertEqual(len({node.address for fabric in (one, two) for node in fabric.nodes}), 160)

    def test_a_port_is_given_once(self):
        with unittest.mock.patch.object(harness, "PORTS", range(32000, 32200)):
            ports = {harness.free_port() for _ in range(100)}
        self.assertEqual(len(ports), 100)


class Captures(unittest.TestCase):
    def test_every_packet_of_the_kernel_has_a_right_icrc(self):
        paths = glob.glob(os.path.join(os.environ["VERBENA_TEST_DATA"], "*.pcap"))
        self.assertGreater(len(paths), 3)
        for path in paths:
            counts = roce_check.summary(path)
            self.assertGreater(counts["roce"], 0, path)
            self.assertEqual(counts["wrong_icrc"], 0, path)

    def test_a_changed_bit_is_seen(self):
        path = sorted(glob.glob(os.path.join(os.environ["VERBENA_TEST_DATA"], "*.pcap")))[0]
        frame = next(octets for octets, _, _ in roce_check.packets(path) if roce_check.icrc_is_right(octets))
        self.assertIs(roce_check.icrc_is_right(frame[:60] + bytes([frame[60] ^ 1]) + frame[61:]), False)

    def test_hostile_packets_with_an_icrc_have_a_right_one(self):
        body = bad_luck.bth(4, 2, 3) + b"payload."
        datagram = body + bad_luck.with_icrc("127.47.91.1", "127.47.91.2", body)(4791)
        header = bytes.fromhex("4500") + (28 + len(datagram)).to_bytes(2, "big") + bytes.fromhex("0000400040110000")
        frame = (bytes(12) + b"\x08\x00" + header + bytes([127, 47, 91, 1, 127, 47, 91, 2])
                 + (4791).to_bytes(2, "big") * 2 + (8 + len(datagram)).to_bytes(2, "big") + bytes(2) + datagram)
        self.assertIs(roce_check.icrc_is_right(frame), True)


if __name__ == "__main__":
    unittest.main()
