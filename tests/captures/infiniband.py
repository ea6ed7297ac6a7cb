#!/usr/bin/env python3
"""InfiniBand packets built octet by octet from the specification, as libpcap's link type 247 and as Endace's records: `verbena explain` and
`verbena check` read what was put in, and tshark, which must be there, reads the same of the records."""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

LID_A, LID_B = 0x11, 0x22
GID_A, GID_B = bytes.fromhex("fe800000000000000002c90300010203"), bytes.fromhex("fe800000000000000002c90300010204")
INFINIBAND, ERF = 247, 197


def u16(value):
    return struct.pack(">H", value)


def u32(value):
    return struct.pack(">I", value)


def u64(value):
    return struct.pack(">Q", value)


def vcrc(octets):
    """IBTA 7.8.2, bit by bit: x^16 + x^12 + x^3 + x + 1, from ones, complemented, the lowest bit of each octet first."""
    state = 0xFFFF
    for octet in octets:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ 0xD008 if state & 1 else state >> 1
    return struct.pack("<H", state ^ 0xFFFF)


def packet(transport, source=LID_A, destination=LID_B, lane=0, level=0, is_global=False):
    """From the LRH to the VCRC, around what lies between BTH and ICRC."""
    grh = b""
    if is_global:
        grh = u32(6 << 28 | 0x12 << 20 | 0x34567) + u16(len(transport) + 4) + bytes([0x1B, 9]) + GID_A + GID_B
    lrh = bytes([lane << 4, level << 4 | (3 if is_global else 2)]) + u16(destination) + u16((8 + len(grh) + len(transport) + 4) // 4) + u16(source)
    masked = bytearray((b"\xff" * 8 if is_global else bytes([lrh[0] | 0xF0]) + lrh[1:]) + grh + transport)
    if is_global:
        masked[8] |= 0x0F
        masked[9:12], masked[15] = b"\xff\xff\xff", 0xFF
    masked[8 + len(grh) + 4] = 0xFF
    whole = lrh + grh + transport + struct.pack("<I", zlib.crc32(bytes(masked)))
    return whole + vcrc(whole)


def bth(opcode, qp, psn, ack=False, pkey=0xFFFF):
    return bytes([opcode, 0]) + u16(pkey) + u32(qp) + u32((0x80000000 if ack else 0) | psn)


def write_only(psn, payload=b"sixteen octets.."):
    return bth(0x0A, 0x48, psn, True) + u64(0x7F00DEAD0000) + u32(0x1234) + u32(len(payload)) + payload


def acknowledge(psn, msn):
    return bth(0x11, 0x49, psn) + u32(0x1F << 24 | msn)


def mad(management_class, method, attribute, body=b"", status=0, class_specific=0, transaction=0x1234, class_version=1):
    header = bytes([1, management_class, class_version, method]) + u16(status) + u16(class_specific) + u64(transaction) + u16(attribute) + u16(0) + u32(0)
    return header + body + bytes(256 - len(header) - len(body))


def datagram(octets, qp, psn=0):
    qkey = 0 if qp == 0 else 0x80010000
    return bth(0x64, qp, psn) + u32(qkey) + u32(qp) + octets


def link_packet(op=0, lane=0, sent=0x123, limit=0x456):
    octets = u16(op << 12 | sent) + u16(lane << 12 | limit)
    return octets + vcrc(octets)


def erf(kind, payload, extension=b""):
    length = 16 + len(extension) + len(payload)
    padding = -length % 8
    flag = 0x80 if extension else 0
    return bytes(8) + bytes([kind | flag, 4]) + u16(length + padding) + bytes(2) + u16(len(payload)) + extension + payload + bytes(padding)


def pcap(link_type, packets):
    text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)
    return text + b"".join(struct.pack("<IIII", 1, number, len(octets), len(octets)) + octets for number, octets in enumerate(packets))


# Two queue pairs that write and acknowledge, with and without a GRH, then management.
DATA = [
    packet(write_only(100)), packet(acknowledge(100, 1), LID_B, LID_A),
    packet(write_only(101)), packet(acknowledge(101, 2), LID_B, LID_A),
    packet(write_only(7), is_global=True, level=3, lane=1),
]
MANAGEMENT = [
    (packet(datagram(mad(0x81, 1, 0x11, class_specific=0x0001), 0), 0xFFFF, 0xFFFF, 15), "SubnGet(NodeInfo)"),
    (packet(datagram(mad(0x81, 0x81, 0x11, class_specific=0x0001), 0), 0xFFFF, 0xFFFF, 15), "SubnGetResp(NodeInfo)"),
    (packet(datagram(mad(0x01, 2, 0x15), 0), lane=15), "SubnSet(PortInfo)"),
    (packet(datagram(mad(0x01, 5, 0x02), 0), lane=15), "SubnTrap(Notice)"),
    (packet(datagram(mad(0x03, 0x12, 0x35, class_version=2), 1)), "SubnAdmGetTable(PathRecord)"),
    (packet(datagram(mad(0x04, 1, 0x12), 1)), "PerfGet(PortCounters)"),
    (packet(datagram(mad(0x04, 1, 0x1D), 1)), "PerfGet(PortCountersExtended)"),
    (packet(datagram(mad(0x07, 3, 0x10, class_version=2), 1)), "CM REQ"),
]
PACKETS = DATA + [octets for octets, _ in MANAGEMENT]
# The route of a packet, opcode, PSN as tshark names them.
FIELDS = ["infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.bth.opcode", "infiniband.bth.psn"]


class Trial:
    def __init__(self, verbena, folder):
        self.verbena, self.path, self.wrong = verbena, os.path.join(folder, "capture.pcap"), []

    def judge(self, name, condition, text):
        if not condition:
            self.wrong.append(f"{name}: {text}")

    def run(self, *arguments):
        return subprocess.run([self.verbena, *arguments, self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def write(self, octets):
        with open(self.path, "wb") as file:
            file.write(octets)

    def explain(self):
        done = self.run("explain", "--json")
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def reads(self, name, octets):
        """All packets with their addresses, CRCs and names; and no rule is broken."""
        self.write(octets)
        status, lines = self.explain()
        packets = [line for line in lines if line["kind"] == "packet"]
        self.judge(name, status == 0 and len(packets) == len(PACKETS), f"status {status}, {len(packets)} packets, {lines[-1:]}")
        crcs = {(line["icrc"], line["vcrc"], line["carried_by"]) for line in packets}
        self.judge(name, crcs == {("right", "right", "InfiniBand")}, f"CRCs {crcs}")
        by_number = {line["number"]: line for line in packets}
        told = [by_number[number]["headers"]["bth"]["psn"] for number in range(1, 6)]
        self.judge(name, told == [100, 100, 101, 101, 7], f"PSNs {told}")
        ends = [(by_number[number]["source"], by_number[number]["destination"]) for number in (1, 2, 5)]
        self.judge(name, ends == [("LID 17", "LID 34"), ("LID 34", "LID 17"), ("fe80::2:c903:1:203", "fe80::2:c903:1:204")], f"ends {ends}")
        lrh = by_number[5]["headers"]["lrh"]
        self.judge(name, (lrh["service_level"], lrh["virtual_lane"], by_number[5]["headers"]["grh"]["hop_limit"]) == (3, 1, 9), f"headers {by_number[5]['headers']}")
        names = [by_number[number].get("management") for number in range(6, 6 + len(MANAGEMENT))]
        self.judge(name, names == [wanted for _, wanted in MANAGEMENT], f"MADs {names}")
        checked = self.run("check")
        rows = {line.split()[0]: line.split() for line in checked.stdout.splitlines() if line.startswith(("icrc", "vcrc"))}
        judged = {row: columns[-3:] for row, columns in rows.items()}
        whole = [str(len(PACKETS)), "0", "0"]
        self.judge(name, checked.returncode == 0 and judged == {"icrc": whole, "vcrc": whole}, f"check ends with {checked.returncode}: {checked.stdout}")

    def tshark(self):
        """Its records are the form that it dissects."""
        octets = [erf(21, one) for one in PACKETS] + [erf(25, link_packet())]
        for name, text in (("pcap", pcap(ERF, octets)), ("file of records", b"".join(octets))):
            self.write(text)
            fields = [argument for field in [*FIELDS, "_ws.malformed", "_ws.col.Info"] for argument in ("-e", field)]
            done = subprocess.run(["tshark", "-n", "-r", self.path, "-T", "fields", *fields], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False, timeout=120)
            seen = [line.split("\t") for line in done.stdout.splitlines()]
            self.judge(f"tshark, {name}", len(seen) == len(octets), f"it reads {len(seen)} of {len(octets)}: {done.stderr}")
            # Its dissector of link packets goes on to an LRH, which they do not have: only their kind is taken from it.
            self.judge(f"tshark, {name}", all(line[4:5] in ([], [""]) for line in seen[:len(PACKETS)]), f"malformed: {seen}")
            self.judge(f"tshark, {name}", seen[-1][5].strip().startswith("Normal Flow Control"), f"link packet: {seen[-1]}")
            told = [tuple(int(value, 0) for value in line[:4]) for line in seen[:len(PACKETS)]]
            _, lines = self.explain()
            packets = sorted((line for line in lines if line["kind"] == "packet"), key=lambda line: line["number"])
            ours = [(line["headers"]["lrh"]["source"], line["headers"]["lrh"]["destination"], line["headers"]["bth"]["opcode"],
                     line["headers"]["bth"]["psn"]) for line in packets]
            self.judge(f"tshark, {name}", told == ours, f"tshark {told}, verbena {ours}")

    def damaged(self, name, at, bit, rule):
        """One bit of a write is wrong: the rule says so, and the packet is told as dropped. The VCRC is made anew where only the ICRC is meant."""
        bad = bytearray(DATA[2])
        bad[at] ^= bit
        if rule == "icrc":
            bad[-2:] = vcrc(bytes(bad[:-2]))
        self.write(pcap(INFINIBAND, [DATA[0], DATA[1], bytes(bad)]))
        checked = self.run("check")
        found = [line.split()[2] for line in checked.stdout.splitlines() if line.startswith("#")]
        self.judge(name, checked.returncode == 1 and found == [rule], f"check ends with {checked.returncode}: {checked.stdout}")
        told = self.run("explain")
        word = "bad ICRC: the receiver drops it" if rule == "icrc" else "bad VCRC: the next port drops it"
        self.judge(name, word in told.stdout, f"explain says {told.stdout}")

    def others(self, name, link_type, octets, kind):
        """What is not read is counted by what it is, and a check of it alone is not green."""
        self.write(pcap(link_type, [octets]))
        status, lines = self.explain()
        self.judge(name, status == 3 and lines[-1]["others"] == {kind: 1}, f"status {status}, {lines}")
        checked = self.run("check")
        self.judge(name, checked.returncode == 3 and "No violations" not in checked.stdout, f"check ends with {checked.returncode}: {checked.stdout}")

    def without_vcrc(self):
        self.write(pcap(INFINIBAND, [octets[:-2] for octets in DATA]))
        status, lines = self.explain()
        crcs = {(line["icrc"], line["vcrc"]) for line in lines if line["kind"] == "packet"}
        self.judge("without VCRC", status == 0 and crcs == {("right", "unknown")}, f"status {status}, {crcs}")
        checked = self.run("check")
        self.judge("without VCRC", checked.returncode == 0, f"check ends with {checked.returncode}: {checked.stdout}")

    def malformed(self):
        """A length that cannot be is nobody's good packet."""
        bad = bytearray(DATA[0])
        bad[5] = 3
        self.write(pcap(INFINIBAND, [bytes(bad), DATA[0]]))
        checked = self.run("check")
        self.judge("malformed", checked.returncode == 1 and "malformed" in checked.stdout, f"check ends with {checked.returncode}: {checked.stdout}")

    def cut(self):
        """Wherever a packet is cut, it is read, or called cut: never malformed, and nothing is lost of the count."""
        for whole in (DATA[0], DATA[4]):
            text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, INFINIBAND)
            for size in range(len(whole)):
                text += struct.pack("<IIII", 1, 0, size, len(whole)) + whole[:size]
            self.write(text)
            status, lines = self.explain()
            told = lines[-1]
            total = told["packets"] + told["other_packets"] + told["headless_packets"] + told["malformed_packets"]
            self.judge("cut", total == len(whole) and told["malformed_packets"] == 0, f"status {status}, {told}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbena", required=True)
    options = parser.parse_args()
    extension = bytes([0x81]) + bytes(7) + bytes([0x05]) + bytes(7)  # two further headers
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(options.verbena, folder)
        trial.reads("link type 247", pcap(INFINIBAND, PACKETS))
        trial.reads("ERF in pcap", pcap(ERF, [erf(21, one) for one in PACKETS]))
        trial.reads("ERF with further headers", pcap(ERF, [erf(21, one, extension) for one in PACKETS]))
        trial.reads("file of ERF", b"".join(erf(21, one) for one in PACKETS))
        trial.tshark()
        trial.damaged("payload", -10, 1, "icrc")
        trial.damaged("lane", 0, 0x10, "vcrc")
        raw = bytes([0, 0]) + u16(LID_B) + u16(6) + u16(LID_A) + u16(0) + u16(0x0800) + bytes(12)
        trial.others("raw", INFINIBAND, raw + vcrc(raw), "raw InfiniBand, EtherType 0x0800")
        trial.others("raw IPv6", INFINIBAND, bytes([0, 1]) + raw[2:] + bytes(40), "raw InfiniBand, IPv6")
        trial.others("reliable datagram", INFINIBAND, packet(bth(0x44, 5, 6) + bytes(12)), "InfiniBand reliable datagrams")
        trial.others("flow control", ERF, erf(25, link_packet()), "InfiniBand flow control")
        trial.others("first flow control", ERF, erf(25, link_packet(1, 3)), "InfiniBand flow control, initial")
        trial.others("reserved link packet", ERF, erf(25, link_packet(7)), "InfiniBand link packet 0x7")
        trial.others("damaged link packet", ERF, erf(25, link_packet()[:-1] + b"\0"), "InfiniBand link packet with a wrong CRC")
        trial.without_vcrc()
        trial.malformed()
        trial.cut()
    for line in trial.wrong:
        print(line)
    print(f"{len(PACKETS)} packets in four kinds of files, {len(trial.wrong)} wrong")
    return 1 if trial.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
