"""Reads a capture independently of Verbena's own code and checks every RoCE packet's invariant CRC (IBTA annexes A16 and A17).

The CRC covers what does not change on the way: the fields that routers rewrite count as ones. Ethernet with IPv4 or IPv6, no VLAN
and no extension headers, is what the nodes of the tests send. Shares no code with wire/: it is what judges it.
"""
import struct
import zlib

ROCE_PORT = 4791
PROTOCOL_UDP = 17
LINKTYPE_ETHERNET = 1


def _pcap(data):
    magic = data[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    offset = 24
    while offset + 16 <= len(data):
        captured, original = struct.unpack_from(order + "II", data, offset + 8)
        yield data[offset + 16:offset + 16 + captured], original, ""
        offset += 16 + captured


def _comment(order, body):
    offset = 20 + (struct.unpack_from(order + "I", body, 12)[0] + 3) // 4 * 4
    while offset + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, offset)
        if code == 0:
            break
        if code == 1:
            return body[offset + 4:offset + 4 + length].decode(errors="replace")
        offset += 4 + (length + 3) // 4 * 4
    return ""


def _pcapng(data):
    order, offset = "<", 0
    while offset + 12 <= len(data):
        kind = struct.unpack_from("<I", data, offset)[0]
        if kind == 0x0A0D0D0A:
            order = "<" if data[offset + 8:offset + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack_from(order + "II", data, offset)
        if length < 12 or length % 4 or offset + length > len(data):
            raise ValueError(f"broken pcapng block at octet {offset}")
        body = data[offset + 8:offset + length - 4]
        if kind == 6:  # enhanced packet block
            captured, original = struct.unpack_from(order + "II", body, 12)
            yield body[20:20 + captured], original, _comment(order, body)
        offset += length
    if offset != len(data):
        raise ValueError(f"{len(data) - offset} octets behind the last pcapng block")


def packets(path):
    """(octets, original length, comment) of each packet."""
    with open(path, "rb") as file:
        data = file.read()
    yield from (_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else _pcap(data))


def roce_of(frame):
    """(the IP datagram, octets of its IP header) of a RoCE v2 frame that is whole; None for any other."""
    if frame[12:14] == b"\x08\x00" and len(frame) >= 34 and frame[14] == 0x45 and frame[23] == PROTOCOL_UDP:
        header, length = 20, struct.unpack_from(">H", frame, 16)[0]
    elif frame[12:14] == b"\x86\xdd" and len(frame) >= 54 and frame[14] >> 4 == 6 and frame[20] == PROTOCOL_UDP:
        header, length = 40, 40 + struct.unpack_from(">H", frame, 18)[0]
    else:
        return None
    if not header + 8 + 12 + 4 <= length <= len(frame) - 14 or struct.unpack_from(">H", frame, 14 + header + 2)[0] != ROCE_PORT:
        return None
    return frame[14:14 + length], header


def source_of(frame):
    """The IP address, in octets, that a RoCE v2 frame comes from."""
    return frame[26:30] if frame[12:14] == b"\x08\x00" else frame[22:38]


def roce_v1_of(frame):
    """From the GRH to the ICRC of a RoCE v1 frame that is whole; None for any other."""
    if frame[12:14] != b"\x89\x15" or len(frame) < 54 or frame[14] >> 4 != 6 or frame[20] != 0x1B:
        return None
    length = 40 + struct.unpack_from(">H", frame, 18)[0]
    return frame[14:14 + length] if 40 + 12 + 4 <= length <= len(frame) - 14 else None


def v1_icrc_is_right(found):
    packet = bytearray(found)
    packet[0] |= 0x0F                   # traffic class, flow label
    packet[1:4] = b"\xff\xff\xff"
    packet[7] = 0xFF                    # hop limit
    packet[40 + 4] = 0xFF               # BTH: reserved
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(packet[:-4]))) == bytes(packet[-4:])


def icrc_is_right(frame):
    """None for what is not RoCE."""
    v1 = roce_v1_of(frame)
    if v1 is not None:
        return v1_icrc_is_right(v1)
    found = roce_of(frame)
    if found is None:
        return None
    packet, udp = bytearray(found[0]), found[1]
    if udp == 20:
        packet[1] = 0xFF                # type of service
        packet[8] = 0xFF                # time to live
        packet[10:12] = b"\xff\xff"     # header checksum
    else:
        packet[0] |= 0x0F               # traffic class, flow label
        packet[1:4] = b"\xff\xff\xff"
        packet[7] = 0xFF                # hop limit
    packet[udp + 6:udp + 8] = b"\xff\xff"  # UDP checksum
    packet[udp + 8 + 4] = 0xFF          # BTH: FECN, BECN, reserved
    crc = zlib.crc32(b"\xff" * 8 + bytes(packet[:-4]))  # eight octets stand for the LRH that RoCE v2 does not have
    return struct.pack("<I", crc) == bytes(packet[-4:])


def summary(path):
    """Counts over a capture: packets, RoCE packets, those of v1 among them, those whose ICRC is wrong, and the comments."""
    result = {"packets": 0, "roce": 0, "v1": 0, "wrong_icrc": 0, "comments": []}
    for octets, original, comment in packets(path):
        result["packets"] += 1
        verdict = icrc_is_right(octets) if len(octets) == original else None
        result["roce"] += verdict is not None
        result["v1"] += verdict is not None and roce_v1_of(octets) is not None
        # A packet that the fault plan corrupted is wrong on purpose, and says so.
        result["wrong_icrc"] += verdict is False and "corrupt" not in comment
        if comment:
            result["comments"].append(comment)
    return result
