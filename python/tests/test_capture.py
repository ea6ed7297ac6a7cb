"""Captures as values: the fields are those that the capture's maker wrote, told by tshark; nothing is dissected twice.
"""
import os
import subprocess

import pytest

from verbena import Capture, CommandError, DamagedCapture, NothingToJudge

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data")
# A field of tshark's, and where it is in Packet.headers.
FIELDS = [
    ("infiniband.bth.opcode", "bth", "opcode"),
    ("infiniband.bth.psn", "bth", "psn"),
    ("infiniband.bth.destqp", "bth", "dest_qp"),
    ("infiniband.bth.a", "bth", "ack_request"),
    ("infiniband.bth.p_key", "bth", "pkey"),
    ("infiniband.reth.va", "reth", "address"),
    ("infiniband.reth.r_key", "reth", "rkey"),
    ("infiniband.reth.dmalen", "reth", "length"),
    ("infiniband.aeth.syndrome", "aeth", "syndrome"),
    ("infiniband.aeth.msn", "aeth", "msn"),
    ("infiniband.atomiceth.swapdt", "atomic_eth", "swap_or_add"),
    ("infiniband.deth.srcqp", "deth", "source_qp"),
    ("infiniband.deth.q_key", "deth", "qkey"),
    ("udp.srcport", "udp", "source_port"),
    ("ip.id", "ipv4", "identification"),
    ("ip.ttl", "ipv4", "time_to_live"),
    ("ip.src", "ipv4", "source"),
    ("eth.src", "ethernet", "source"),
    ("eth.dst", "ethernet", "destination"),
]


def number(text):
    if text in ("", "True", "False"):
        return {"": None, "True": 1, "False": 0}[text]
    return text if "." in text or ":" in text else int(text, 0)


@pytest.mark.parametrize(
    "name",
    [
        "01-rc_pingpong",
        "02-write_bw",
        "03-read_bw",
        "04-atomic_fadd",
        "05-ud_pingpong",
        "06-rping_cm",
        "07-loss2_write_bw",
        "09-send_bw",
    ],
)
def test_every_field_is_as_tshark_reads_it(name):
    path = os.path.join(DATA, f"{name}.pcap")
    words = ["tshark", "-n", "-r", path, "-Y", "infiniband", "-T", "fields", "-e", "frame.number"]
    for field, _, _ in FIELDS:
        words += ["-e", field]
    told = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    packets = Capture(path).packets()
    assert len(packets) == len(told) > 0
    compared = 0
    for packet, line in zip(packets, told):
        values = line.split("\t")
        assert packet.number == int(values[0])
        for (field, header, name_here), value in zip(FIELDS, values[1:]):
            if header == "reth" and "atomic_eth" in packet.headers:  # tshark has one name for both
                header = "atomic_eth"
            ours = packet.headers.get(header, {}).get(name_here)
            assert (ours if isinstance(ours, str) or ours is None else int(ours)) == number(value), (packet, field)
            compared += ours is not None
    assert compared > 10 * len(packets)


def test_a_lossy_capture_is_told_as_explain_tells_it():
    capture = Capture(os.path.join(DATA, "07-loss2_write_bw.pcap"))
    packets = capture.packets()
    troubled = capture.packets(only_problems=True)
    assert len(packets) == 778 and [packet for packet in packets if packet.problems] == troubled
    assert sum(packet.is_again for packet in packets) == 440
    assert [packet.answer for packet in packets].count("NAK PSN sequence error") == 6
    (conversation,) = capture.conversations()
    assert (conversation.transport, conversation.path_mtu_bytes, conversation.packets) == ("RC", 1024, 778)
    assert conversation.ends[0].sent["timeouts"] == 1 and conversation.ends[1].sent["nak_sequence_errors"] == 6
    assert conversation.sent("retransmitted_packets") == 440
    story = capture.explain(only_problems=True)
    assert all(problem in story for packet in troubled for problem in packet.problems)
    assert capture.packets(qp=26) == packets and capture.packets(qp=27) == []
    assert str(packets[0]).startswith("#20 10.77.0.3 > 10.77.0.2 RDMA WRITE First") and packets[0].psn == 16191901


def test_the_connection_manager_is_named():
    packets = Capture(os.path.join(DATA, "06-rping_cm.pcap")).packets()
    names = [packet.management for packet in packets if packet.management]
    assert names == ["CM REQ", "CM REP", "CM RTU", "CM DREQ", "CM DREP"] and packets[0].dest_qp == 1


def test_a_cut_file_is_told_up_to_the_cut(tmp_path):
    cut = tmp_path / "cut.pcap"
    with open(os.path.join(DATA, "02-write_bw.pcap"), "rb") as file:
        cut.write_bytes(file.read()[:20000])
    capture = Capture(cut)
    assert len(capture.packets()) > 5 and "at octet" in capture.damage
    with pytest.raises(DamagedCapture, match="no violations up to there"):  # nobody has judged what is behind
        capture.check()
    whole = Capture(os.path.join(DATA, "02-write_bw.pcap"))
    assert len(whole.packets()) == 325 and whole.damage == ""


def test_what_is_no_capture_is_told(tmp_path):
    (tmp_path / "text").write_text("no capture\n")
    for path in (tmp_path / "text", tmp_path / "missing"):
        with pytest.raises(CommandError, match="^verbena explain: "):
            Capture(path).packets()


def test_broken_rules_are_found(tmp_path):
    clean = Capture(os.path.join(DATA, "02-write_bw.pcap"))
    assert clean.check() == []
    # The first acknowledgement says another MSN than the responder can have reached. Nobody looks at the ICRC of
    # a cut packet.
    octets = bytearray(open(clean.path, "rb").read())
    answer = next(packet for packet in clean.packets() if packet.answer)
    at, seen = 24, 0
    while (seen := seen + 1) < answer.number:
        at += 16 + int.from_bytes(octets[at + 8 : at + 12], "little")
    size = int.from_bytes(octets[at + 8 : at + 12], "little")
    msn = at + 16 + 14 + 20 + 8 + 12 + 1
    octets[msn : msn + 3] = b"\xab\xcd\xef"
    del octets[at + 16 + size - 4 : at + 16 + size]
    octets[at + 8 : at + 12] = (size - 4).to_bytes(4, "little")
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(octets)
    changed = next(packet for packet in Capture(broken).packets() if packet.number == answer.number)
    assert changed.headers["aeth"]["msn"] == 0xABCDEF and changed.icrc == "unknown"
    assert Capture(broken).check() == []  # it may have been damaged on the way
    found = Capture(broken).check(trust_cut=True)
    assert [(violation.packet > answer.number, violation.checker) for violation in found] == [(True, "msn")], found


def test_a_capture_of_which_nothing_can_be_judged_is_no_good_one(tmp_path):
    header = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00"
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    path = tmp_path / "arp.pcap"
    path.write_bytes(header + bytes(8) + 2 * len(arp).to_bytes(4, "little") + arp)
    with pytest.raises(NothingToJudge, match="the only packet cannot be read as RoCE"):
        Capture(path).check()
    assert Capture(path).packets() == [] and Capture(path).conversations() == []
    path.write_bytes(header + bytes(8) + 2 * len(arp).to_bytes(4, "little") + arp[:20])
    damaged = Capture(path)
    with pytest.raises(NothingToJudge, match="nothing to judge up to there"):
        damaged.check()
    assert "at octet" in damaged.damage
