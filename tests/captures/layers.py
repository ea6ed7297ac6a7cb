#!/usr/bin/env python3
"""Every layer that may stand around a RoCE packet, built octet by octet from its specification: what `verbena explain` and
`verbena check` read must be what was put in, and tshark must read the same, where it knows the layer."""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

MAC = bytes.fromhex("02000a090002") + bytes.fromhex("02000a090001")
SOURCE4, DESTINATION4 = bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])
SOURCE6 = bytes.fromhex("fd000000000000000000000000000001")
DESTINATION6 = bytes.fromhex("fd000000000000000000000000000002")
OUTER4 = bytes([172, 16, 0, 1]), bytes([172, 16, 0, 2])
OUTER6 = bytes.fromhex("fd010000000000000000000000000001"), bytes.fromhex("fd010000000000000000000000000002")
PSN = 0x64


def u16(value):
    return struct.pack(">H", value)


def u32(value):
    return struct.pack(">I", value)


def udp(payload, port, source_port=0xC123):
    return u16(source_port) + u16(port) + u16(8 + len(payload)) + bytes(2) + payload


def ipv4(payload, protocol=17, addresses=OUTER4, options=b"", fragment=0, identification=0x1234):
    header = bytes([0x45 + len(options) // 4, 0]) + u16(20 + len(options) + len(payload)) + u16(identification) + u16(fragment)
    header += bytes([64, protocol]) + bytes(2) + addresses[0] + addresses[1] + options
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return header[:10] + u16(~total & 0xFFFF) + header[12:] + payload


def ipv6(payload, next_header=17, addresses=OUTER6):
    return u32(6 << 28) + u16(len(payload)) + bytes([next_header, 64]) + addresses[0] + addresses[1] + payload


def ethernet(payload, ether_type=0x0800):
    return MAC + u16(ether_type) + payload


def transport(psn=PSN):
    """UDP, BTH and payload of a SEND, without its ICRC."""
    bth = bytes([0x04, 0x40]) + u16(0xFFFF) + u32(0x22) + u32(0x80000000 | psn)
    body = bth + b"hello world, sen"
    return u16(0xC123) + u16(4791) + u16(8 + len(body) + 4) + bytes(2) + body


def with_icrc(ip_header, body):
    """IBTA A17.3.3: what routers change counts as ones."""
    masked = bytearray(ip_header)
    if masked[0] >> 4 == 4:
        masked[1], masked[8], masked[10:12] = 0xFF, 0xFF, b"\xff\xff"
    else:
        masked[0:4], masked[7] = bytes([masked[0] | 0x0F]) + b"\xff\xff\xff", 0xFF
    covered = bytearray(body)
    covered[6:8] = b"\xff\xff"
    covered[12] = 0xFF
    return body + struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked) + bytes(covered)))


def roce4(psn=PSN):
    body = transport(psn)
    addresses = (SOURCE4, DESTINATION4)
    header = ipv4(body + bytes(4), addresses=addresses)[:20]
    return ipv4(with_icrc(header, body), addresses=addresses)


def roce6(psn=PSN):
    body = transport(psn)
    addresses = (SOURCE6, DESTINATION6)
    return ipv6(with_icrc(ipv6(body + bytes(4), addresses=addresses)[:40], body), addresses=addresses)


def roce1(size):
    """A GRH, BTH and the payload of a SEND, so many octets in all (IBTA annex A16)."""
    bth = bytes([0x04, 0x40]) + u16(0xFFFF) + u32(0x22) + u32(0x80000000 | PSN)
    body = bth + b"hello world, send it all"[:size - 40 - 12 - 4]
    grh = u32(6 << 28) + u16(len(body) + 4) + bytes([0x1B, 64]) + SOURCE6 + DESTINATION6
    masked = bytes([grh[0] | 0x0F]) + b"\xff\xff\xff" + grh[4:7] + b"\xff" + grh[8:]
    covered = body[:4] + b"\xff" + body[5:]
    return grh + body + struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked + covered))


def udp_of(packet):
    """What follows the IP header of roce4() or roce6()."""
    return packet[20:] if packet[0] >> 4 == 4 else packet[40:]


def tunnel4(payload, protocol):
    return ethernet(ipv4(payload, protocol))


def over_udp(payload, port):
    return ethernet(ipv4(udp(payload, port)))


def extended(*headers):
    """IPv6 with extension headers: pairs of the header's number and its octets behind the next header's number."""
    payload = udp_of(roce6())
    following = 17
    for number, octets in reversed(headers):
        payload = bytes([following]) + octets + payload
        following = number
    return ethernet(ipv6(payload, following, (SOURCE6, DESTINATION6)), 0x86DD)


def fragments4():
    payload = udp_of(roce4())
    make = lambda part, field: ethernet(ipv4(part, 17, (SOURCE4, DESTINATION4), b"", field))
    return [make(payload[24:], 3), make(payload[:24], 0x2000)]  # the last one first


def fragments6():
    payload = udp_of(roce6())
    make = lambda part, field: ethernet(ipv6(bytes([17, 0]) + u16(field) + u32(7) + part, 44, (SOURCE6, DESTINATION6)), 0x86DD)
    return [make(payload[:24], 1), make(payload[24:], 24)]


FRAME = ethernet(roce4())
FRAME6 = ethernet(roce6(), 0x86DD)
LLC_SNAP = bytes([0xAA, 0xAA, 3, 0, 0, 0, 8, 0])
ROUTING_ENDS_HERE = bytes([4, 4, 0, 1, 0]) + u16(0) + OUTER6[0] + DESTINATION6  # two segments, none left
ERF = bytes(8) + bytes([2, 4]) + u16(16 + 2 + len(FRAME)) + bytes(2) + u16(len(FRAME))
ERF_EXTENDED = bytes(8) + bytes([0x82, 4]) + u16(32 + 2 + len(FRAME)) + bytes(2) + u16(len(FRAME)) + bytes([0x80]) + bytes(7) + bytes(8)
NFLOG = bytes([2, 0, 0, 0]) + struct.pack("<HH", 5, 10) + bytes(4) + struct.pack("<HH", 4 + len(roce4()), 9) + roce4()
PKTAP = struct.pack("<III", 108, 1, 1) + bytes(96)
LLC_IPV6 = LLC_SNAP[:6] + u16(0x86DD)
WIRELESS = bytes([0x08, 0x02]) + u16(0) + MAC[:6] + MAC[6:] + MAC[6:] + u16(0x1000)  # from an access point
WIRELESS_QOS = bytes([0x88, 0x83]) + WIRELESS[2:] + MAC[:6] + u16(0x0700) + u32(0)  # between two, with priority and HT control
AVS = u32(0x80211001) + u32(64) + bytes(56)


def erf(kind, payload, own=b"", padding=0):
    """A record of the kind: `own` stands in front of the payload, and is not of its length."""
    length = 16 + len(own) + len(payload) + padding
    return bytes(8) + bytes([kind, 4]) + u16(length) + bytes(2) + u16(len(payload)) + own + payload + bytes(padding)

# Name, link type, frame or frames, the layers that are told; and what tshark has to be told first, or None: it does not know the layer.
LAYERS = [
    ("plain", 1, FRAME, "", ()),
    ("plain, IPv6", 1, FRAME6, "", ()),
    ("padded and with a trailer", 1, FRAME + bytes(30), "", ()),
    ("VLAN", 1, MAC + u16(0x8100) + u16(100) + FRAME[12:], "", ()),
    ("802.1ad", 1, MAC + u16(0x88A8) + u16(100) + u16(0x8100) + u16(200) + FRAME[12:], "S-VLAN 100, VLAN 200", ()),
    ("802.1ad alone", 1, MAC + u16(0x88A8) + u16(100) + FRAME[12:], "S-VLAN 100", ()),
    ("three tags", 1, MAC + u16(0x8100) + u16(1) + u16(0x8100) + u16(2) + u16(0x8100) + u16(3) + FRAME6[12:], "VLAN 1, VLAN 2, VLAN 3", ()),
    ("0x9100", 1, MAC + u16(0x9100) + u16(5) + FRAME[12:], "VLAN 5", ()),
    ("0x9200", 1, MAC + u16(0x9200) + u16(5) + FRAME[12:], "VLAN 5", None),
    ("802.1ah", 1, MAC + u16(0x88E7) + u32(0x123456) + FRAME, "PBB 1193046", ()),
    ("MACsec without encryption", 1, MAC + u16(0x88E5) + bytes([0x20, 0]) + u32(1) + bytes(8) + FRAME[12:] + bytes(16), "MACsec", ()),
    ("LLC and SNAP", 1, MAC + u16(8 + len(roce4())) + LLC_SNAP + roce4(), "", ()),
    ("VN-tag", 1, MAC + u16(0x8926) + u32(1) + FRAME[12:], "VN-tag", ()),
    ("E-tag", 1, MAC + u16(0x893F) + bytes(6) + FRAME[12:], "E-tag", ()),
    ("Cisco metadata", 1, MAC + u16(0x8909) + bytes([1, 1, 0, 1, 0, 7]) + FRAME[12:], "Cisco metadata", ()),
    ("R-tag", 1, MAC + u16(0xF1C1) + u16(0) + u16(77) + FRAME[12:], "R-tag", ()),
    ("R-tag behind a VLAN's", 1, MAC + u16(0x8100) + u16(100) + u16(0xF1C1) + u16(0) + u16(77) + FRAME6[12:], "VLAN 100, R-tag", ()),
    ("HSR", 1, MAC + u16(0x892F) + u16(0x1000 | 6 + len(roce4())) + u16(77) + FRAME[12:], "HSR", ()),
    ("PRP's trailer", 1, FRAME + u16(77) + u16(0xA000 | 6 + len(roce4())) + u16(0x88FB), "", ()),
    ("PRP's trailer behind a VLAN's tag", 1, MAC + u16(0x8100) + u16(100) + FRAME6[12:] + u16(77) + u16(0xA000 | 6 + len(roce6())) + u16(0x88FB),
     "", ()),
    ("FabricPath", 1, MAC + u16(0x8903) + u16(3 << 6 | 1) + FRAME, "FabricPath 3", None),
    ("TRILL", 1, MAC + u16(0x22F3) + u16(0x003F) + u16(1) + u16(2) + FRAME, "TRILL", ()),
    ("NSH", 1, ethernet(u16(0x0FC6) + bytes([1, 3]) + u32(42 << 8 | 255) + bytes(16) + FRAME, 0x894F), "NSH 42", ()),
    ("MPLS, IP", 1, ethernet(u32(16 << 12 | 64) + u32(17 << 12 | 0x100 | 64) + roce4(), 0x8847), "MPLS 16/17", ()),
    ("MPLS, pseudowire with control word", 1, ethernet(u32(16 << 12 | 0x140) + bytes(4) + FRAME, 0x8847), "MPLS 16", ()),
    ("MPLS, pseudowire without", 1, ethernet(u32(16 << 12 | 0x140) + FRAME, 0x8847), "MPLS 16", None),
    ("PPPoE", 1, ethernet(bytes([0x11, 0]) + u16(9) + u16(2 + len(roce4())) + u16(0x21) + roce4(), 0x8864), "PPPoE 9", ()),
    ("VXLAN", 1, over_udp(bytes([8, 0, 0, 0]) + u32(42 << 8) + FRAME, 4789), "VXLAN 42", ()),
    ("VXLAN, Linux' first port", 1, over_udp(bytes([8, 0, 0, 0]) + u32(42 << 8) + FRAME, 8472), "VXLAN 42", ("-d", "udp.port==8472,vxlan")),
    ("VXLAN over IPv6, a tag within", 1,
     ethernet(ipv6(udp(bytes([8, 0, 0, 0]) + u32(42 << 8) + MAC + u16(0x8100) + u16(7) + FRAME6[12:], 4789)), 0x86DD), "VXLAN 42, VLAN 7", ()),
    ("VXLAN-GPE", 1, over_udp(bytes([0x0C, 0, 0, 1]) + u32(42 << 8) + roce4(), 4790), "VXLAN 42", ()),
    ("Geneve", 1, over_udp(u16(0) + u16(0x6558) + u32(77 << 8) + FRAME, 6081), "Geneve 77", ()),
    ("Geneve with options", 1, over_udp(u16(0x0200) + u16(0x0800) + u32(77 << 8) + u16(0x102) + bytes([1, 1]) + bytes(4) + roce4(), 6081),
     "Geneve 77", ()),
    ("GRE", 1, tunnel4(u16(0) + u16(0x0800) + roce4(), 47), "GRE", ()),
    ("GRE with all fields", 1, tunnel4(u16(0xB000) + u16(0x86DD) + bytes(4) + u32(5) + u32(1) + roce6(), 47), "GRE 5", ()),
    ("NVGRE", 1, tunnel4(u16(0x2000) + u16(0x6558) + u32(5 << 8) + FRAME, 47), "GRE 1280", ()),
    ("GRE of PPTP", 1, tunnel4(u16(0x3081) + u16(0x880B) + u32(9) + u32(1) + u32(0) + u16(0x21) + roce4(), 47), "GRE 9", ()),
    ("WCCP", 1, tunnel4(u16(0) + u16(0x883E) + roce4(), 47), "GRE, WCCP", ()),
    ("WCCP, version 2", 1, tunnel4(u16(0) + u16(0x883E) + bytes([0, 0, 7, 7]) + roce4(), 47), "GRE, WCCP", ()),
    ("ERSPAN I", 1, tunnel4(u16(0) + u16(0x88BE) + FRAME, 47), "ERSPAN", ()),
    ("ERSPAN II", 1, tunnel4(u16(0x1000) + u16(0x88BE) + u32(1) + u16(0x1000) + u16(12) + u32(0) + FRAME, 47), "ERSPAN 12", ()),
    ("ERSPAN III", 1, tunnel4(u16(0x1000) + u16(0x22EB) + u32(1) + u16(0x2000) + u16(12) + u32(0) + u16(0) + u16(0) + FRAME, 47), "ERSPAN 12", ()),
    ("ERSPAN III with platform's header", 1,
     tunnel4(u16(0x1000) + u16(0x22EB) + u32(1) + u16(0x2000) + u16(12) + u32(0) + u16(0) + u16(1) + bytes(8) + FRAME, 47), "ERSPAN 12", ()),
    ("IP in IP", 1, tunnel4(roce4(), 4), "IP in IP", ()),
    ("6in4", 1, tunnel4(roce6(), 41), "IPv6 in IP", ()),
    ("EtherIP", 1, tunnel4(u16(0x3000) + FRAME, 97), "EtherIP", ()),
    ("MPLS in IP", 1, tunnel4(u32(16 << 12 | 0x140) + roce4(), 137), "MPLS 16", ()),
    ("MPLS in UDP", 1, over_udp(u32(16 << 12 | 0x140) + roce4(), 6635), "MPLS 16", ()),
    ("L2TPv3", 1, tunnel4(u32(33) + FRAME, 115), "L2TPv3 33", None),
    ("L2TPv2", 1, over_udp(u16(0x0002) + u16(1) + u16(2) + u16(0xFF03) + u16(0x21) + roce4(), 1701), "L2TP 2", ()),
    ("GTP-U", 1, over_udp(bytes([0x30, 0xFF]) + u16(len(roce4())) + u32(99) + roce4(), 2152), "GTP-U 99", ()),
    ("GTP-U with an extension header", 1,
     over_udp(bytes([0x34, 0xFF]) + u16(8 + len(roce4())) + u32(99) + bytes([0, 0, 0, 0x85]) + bytes([1, 0, 0, 0]) + roce4(), 2152), "GTP-U 99", ()),
    ("TZSP", 1, over_udp(bytes([1, 0, 0, 1]) + bytes([10, 1, 5, 0, 1]) + FRAME, 37008), "TZSP", ("-d", "udp.port==37008,tzsp")),
    ("GUE", 1, over_udp(bytes([0, 4, 0, 0]) + roce4(), 6080), "GUE, IP in IP", None),
    ("LISP", 1, over_udp(bytes(8) + roce4(), 4341), "LISP", ()),
    ("AMT", 1, over_udp(bytes([6, 0]) + roce4(), 2268), "AMT", ()),
    ("AMT, to a gateway", 1, ethernet(ipv4(udp(bytes([6, 0]) + roce6(), 51000, 2268))), "AMT", ()),
    ("Juniper's mirror", 1, over_udp(u32(5) + u32(6) + roce4(), 30030), "Juniper mirror 5", ()),
    ("Juniper's mirror, IPv6", 1, over_udp(u32(5) + u32(6) + roce6(), 30030), "Juniper mirror 5", ()),
    ("Juniper's mirror of PPP", 1, over_udp(u32(5) + u32(6) + u16(0xFF03) + u16(0x21) + roce4(), 30030), "Juniper mirror 5", ()),
    ("TZSP, 802.11", 1, over_udp(bytes([1, 0, 0, 18]) + bytes([1]) + WIRELESS + LLC_SNAP + roce4(), 37008), "TZSP", ("-d", "udp.port==37008,tzsp")),
    ("HP's mirror", 1, over_udp(bytes(12) + FRAME, 7932), "HP ERM", None),
    ("IPv4 options", 1, ethernet(ipv4(udp_of(roce4()), 17, (SOURCE4, DESTINATION4), bytes([1, 1, 1, 0]))), "IPv4 options", ()),
    ("IPv4 fragments", 1, fragments4(), "IP fragments", ()),
    ("IPv6 hop-by-hop", 1, extended((0, bytes([0, 1, 4, 0, 0, 0, 0]))), "IPv6 hop-by-hop options", ()),
    ("IPv6 options and authentication", 1, extended((60, bytes([0, 1, 4, 0, 0, 0, 0])), (51, bytes([4, 0, 0]) + u32(1) + u32(1) + bytes(12))),
     "IPv6 destination options, IPsec AH", ()),
    ("segment routing", 1, extended((43, ROUTING_ENDS_HERE + OUTER6[0][:0])), "SRv6", ()),
    ("segment routing around a packet", 1, ethernet(ipv6(bytes([4]) + ROUTING_ENDS_HERE + roce4(), 43), 0x86DD), "SRv6, IP in IP", ()),
    ("IPv6 fragments", 1, fragments6(), "IP fragments", ()),
    ("two tunnels", 1, over_udp(bytes([8, 0, 0, 0]) + u32(42 << 8) + tunnel4(u16(0) + u16(0x0800) + roce4(), 47), 4789), "VXLAN 42, GRE", ()),
    ("BSD loopback", 0, struct.pack("<I", 2) + roce4(), "", ()),
    ("BSD loopback of another byte order", 0, struct.pack(">I", 30) + roce6(), "", ()),
    ("OpenBSD loopback", 108, u32(2) + roce4(), "", ()),
    ("PPP", 9, u16(0xFF03) + u16(0x21) + roce4(), "", ()),
    ("PPP, one octet of protocol", 9, bytes([0x21]) + roce4(), "", ()),
    ("PPP, serial", 50, u16(0xFF03) + u16(0x57) + roce6(), "", ()),
    ("Cisco HDLC", 104, u16(0x0F00) + u16(0x0800) + roce4(), "", ()),
    ("raw IP", 101, roce6(), "", ()),
    ("raw IP, OpenBSD", 12, roce4(), "", ()),
    ("IPv4", 228, roce4(), "", ()),
    ("IPv6", 229, roce6(), "", ()),
    ("Linux cooked", 113, u16(0) + u16(1) + u16(6) + MAC[:6] + bytes(2) + u16(0x0800) + roce4(), "", ()),
    ("Linux cooked, a tag", 113, u16(0) + u16(1) + u16(6) + MAC[:6] + bytes(2) + u16(0x8100) + u16(8) + u16(0x0800) + roce4(), "VLAN 8", ()),
    ("Linux cooked 2", 276, u16(0x0800) + u16(0) + u32(1) + u16(1) + bytes([0, 6]) + MAC[:6] + bytes(2) + roce4(), "", ()),
    ("ERF", 197, ERF + bytes(2) + FRAME, "", ()),
    ("ERF with extension headers", 197, ERF_EXTENDED + bytes(2) + FRAME, "", ()),
    *[(f"ERF of PPP over SONET, type {kind}", 197, erf(kind, u16(0xFF03) + u16(0x21) + roce4() + bytes(4)), "", ()) for kind in (1, 10, 15, 19)],
    ("ERF of Cisco HDLC over SONET, padded", 197, erf(1, u16(0x0F00) + u16(0x86DD) + roce6(), padding=7), "", ()),
    *[(f"ERF of channels with PPP, type {kind}", 197, erf(kind, u16(0xFF03) + u16(0x21) + roce4(), u32(9)), "", ()) for kind in (5, 17)],
    *[(f"ERF of Ethernet, type {kind}", 197, erf(kind, FRAME + bytes(4), bytes(2)), "", ()) for kind in (11, 16, 20)],
    ("ERF of IPv4", 197, erf(22, roce4(), padding=3), "", ()),
    ("ERF of IPv6", 197, erf(23, roce6()), "", ()),
    ("ERF of AAL5", 197, erf(4, bytes([0, 0, 6, 0x40]) + LLC_SNAP + roce4()), "", ()),
    ("ERF of channels with AAL5", 197, erf(9, bytes([0, 0, 6, 0x40]) + LLC_SNAP + roce4(), u32(9)), "", ()),
    ("frame relay", 107, bytes([0x18, 0x41, 3, 0xCC]) + roce4(), "", ()),
    ("frame relay, IPv6 behind padding", 107, bytes([0x18, 0x41, 3, 0, 0x8E]) + roce6(), "", ()),
    ("frame relay with four octets of address", 107, bytes([0x18, 0x40, 0x80, 0x41, 3, 0xCC]) + roce4(), "", ()),
    ("frame relay, SNAP", 107, bytes([0x18, 0x41, 3, 0, 0x80]) + LLC_SNAP[3:] + roce4(), "", ()),
    ("frame relay, a frame", 107, bytes([0x18, 0x41, 3, 0, 0x80]) + bytes.fromhex("0080c20007") + FRAME, "", ()),
    ("frame relay, PPP", 107, bytes([0x18, 0x41, 3, 0xCF]) + u16(0x21) + roce4(), "", ()),
    ("frame relay, Cisco's", 107, bytes([0x18, 0x41]) + u16(0x86DD) + roce6(), "", ()),
    ("SunATM, LLC", 123, bytes([0x82, 0]) + u16(100) + LLC_SNAP + roce4(), "", ()),
    ("SunATM, LAN emulation", 123, bytes([0x01, 0]) + u16(100) + u16(7) + FRAME, "", ()),
    ("EPON", 259, bytes([0xD5, 0x55, 0x55, 0, 1, 0]) + FRAME, "", ()),
    ("EPON, one octet more", 259, bytes([0x55, 0xD5, 0x55, 0x55, 0, 1, 0]) + FRAME6, "", ()),
    ("Symantec's firewall", 99, bytes(6) + u16(0x0800) + bytes(36) + roce4(), "", ()),
    ("Symantec's firewall, version 3", 99, bytes(10) + u16(0x86DD) + bytes(44) + roce6(), "", ()),
    ("FDDI", 10, bytes([0x54]) + MAC + LLC_SNAP + roce4(), "", ()),
    ("token ring", 6, bytes([0x10, 0x40]) + MAC + LLC_SNAP + roce4(), "", ()),
    ("token ring, source-routed", 6, bytes([0x10, 0x40]) + MAC[:6] + bytes([MAC[6] | 0x80]) + MAC[7:] + bytes([4, 0x30, 0, 0x10]) + LLC_IPV6 + roce6(), "", ()),
    ("802.11", 105, WIRELESS + LLC_SNAP + roce4(), "", ()),
    ("802.11 with all fields", 105, WIRELESS_QOS + LLC_IPV6 + roce6(), "", ()),
    ("802.11, radiotap", 127, struct.pack("<BBHI", 0, 0, 12, 0) + bytes(4) + WIRELESS + LLC_SNAP + roce4(), "", ()),
    ("802.11, PPI", 192, struct.pack("<BBHI", 0, 0, 8, 105) + WIRELESS + LLC_SNAP + roce4(), "", ()),
    ("802.11, Prism", 119, struct.pack("<II", 0x44, 144) + bytes(136) + WIRELESS + LLC_SNAP + roce4(), "", ()),
    ("802.11, AVS", 163, AVS + WIRELESS + LLC_SNAP + roce4(), "", ()),
    ("NFLOG", 239, NFLOG, "", ()),
    ("PKTAP", 258, PKTAP + FRAME, "", ()),
    ("PPI", 192, struct.pack("<BBHI", 0, 0, 8, 1) + FRAME, "", ()),
    ("MPLS at once", 219, u32(16 << 12 | 0x140) + roce4(), "MPLS 16", None),
    ("mPacket", 274, bytes([0x55] * 7 + [0xD5]) + FRAME, "", None),
]



# Their tables of EtherTypes have no RoCE v1 in tshark.
UNKNOWN_TO_TSHARK = ("GRE", "two tunnels", "Cisco HDLC", "ERF of Cisco HDLC over SONET, padded", "frame relay, Cisco's")


def as_v1(row):
    """The same layers around a RoCE v1 packet of the same size, so that all lengths outside stay right; None: there is no EtherType to say so."""
    name, link_type, frame, layers, options = row
    if isinstance(frame, list):
        return None
    made = frame
    for ether_type, packet in ((0x0800, roce4()), (0x86DD, roce6())):
        made = made.replace(u16(ether_type) + packet, u16(0x8915) + roce1(len(packet)))
    return None if made == frame else (name + ", RoCE v1", link_type, made, layers, None if name in UNKNOWN_TO_TSHARK else options)


LAYERS += [row for row in map(as_v1, LAYERS) if row]

# What is no RoCE, and how it is called.
TCP = u16(40000) + u16(4420) + u32(1) + u32(0) + bytes([0x50, 2]) + u16(100) + bytes(4)
OTHERS = [
    (1, ethernet(bytes(28), 0x0806), "ARP"),
    (1, ethernet(bytes(40), 0x88CC), "LLDP"),
    (1, ethernet(bytes([0x80]) + bytes(59), 0x8915), "usNIC"),
    (1, ethernet(bytes(60), 0x1234), "EtherType 0x1234"),
    (1, tunnel4(TCP, 6), "TCP port 4420"),
    (1, tunnel4(TCP[:12] + bytes([0x50, 24]) + TCP[14:] + b"MPA ID Req Frame" + bytes(4), 6), "iWARP"),
    (1, tunnel4(TCP[:12] + bytes([0x50, 24]) + TCP[14:] + u16(18) + bytes([0x41, 0x40]) + bytes(16) + bytes(4), 6), "iWARP"),
    (1, tunnel4(bytes(40), 50), "IPsec ESP"),
    (1, tunnel4(bytes(40), 200), "IP protocol 200"),
    (1, over_udp(bytes(40), 53), "DNS"),
    (1, over_udp(bytes(40), 12345), "UDP port 12345"),
    (1, over_udp(bytes([8, 0, 0, 0]) + u32(42 << 8) + ethernet(bytes(28), 0x0806), 4789), "ARP in VXLAN"),
    (1, over_udp(bytes(4), 4789), "VXLAN, malformed"),
    (1, MAC + u16(0x88E5) + bytes([0x2C, 0]) + u32(1) + bytes(60), "MACsec, encrypted"),
    (1, MAC + u16(38) + bytes([0x42, 0x42, 3]) + bytes(35), "STP"),
    (1, fragments4()[1], "of incomplete IP datagrams"),
    (197, erf(21, bytes(44)), "raw InfiniBand, EtherType 0x0000"),
    (247, bytes(60), "raw InfiniBand, EtherType 0x0000"),
    (1, MAC + u16(0x88FB) + bytes(60), "HSR and PRP supervision"),
    (1, MAC + u16(0x892F) + bytes(4) + ethernet(bytes(28), 0x0806)[12:], "ARP"),
    (1, over_udp(bytes([3]) + bytes(7), 2268), "AMT control"),
    (1, over_udp(bytes([0x16]) + bytes(40), 2268), "AMT, malformed"),
    (6, bytes([0x10, 0x00]) + bytes(40), "token ring"),
    (10, bytes([0x41]) + bytes(40), "FDDI"),
    (105, bytes([0x80]) + bytes(60), "802.11"),
    (105, bytes([0x48]) + bytes(60), "802.11"),
    (105, bytes([0x08, 0x42]) + WIRELESS[2:] + bytes(60), "802.11, encrypted"),
    (105, bytes([0x08, 0x06]) + WIRELESS[2:] + LLC_SNAP + roce4(), "802.11 fragment"),
    (105, bytes([0x88, 0x02]) + WIRELESS[2:] + bytes([0x80, 0]) + bytes(60), "802.11 with several packets in one frame"),
    (107, bytes([0x18, 0x41, 3, 0x08]) + bytes(40), "frame relay NLPID 0x08"),
    (107, bytes(40), "frame relay, malformed"),
    (123, bytes([6, 0]) + bytes(40), "ATM traffic of type 6"),
    (259, bytes([0xD5, 0x55, 0x57, 0, 1, 0]) + FRAME, "EPON, encrypted"),
    (197, erf(24, bytes(40)), "ERF type 24"),
    (147, bytes(60), "link type 147"),
]


def pcap(link_type, frames):
    text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)
    for number, frame in enumerate(frames):
        text += struct.pack("<IIII", 1, number, len(frame), len(frame)) + frame
    return text


def pcapng(rows):
    """One file of all rows, with an interface for each link type."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    link_types = sorted({link_type for _, link_type, _ in rows})
    text = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    text += b"".join(block(1, struct.pack("<HHI", link_type, 0, 0)) for link_type in link_types)
    for _, link_type, frames in rows:
        for frame in frames:
            text += block(6, struct.pack("<IIIII", link_types.index(link_type), 0, 1, len(frame), len(frame)) + frame)
    return text


class Trial:
    def __init__(self, verbena, folder):
        self.verbena, self.path, self.wrong = verbena, os.path.join(folder, "capture.pcap"), []
        self.for_tshark = {}  # by its options: it takes a second to start

    def write(self, link_type, frames):
        with open(self.path, "wb") as file:
            file.write(pcap(link_type, frames))

    def explain(self):
        done = subprocess.run([self.verbena, "explain", "--json", self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=60)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def judge(self, name, condition, text):
        if not condition:
            self.wrong.append(f"{name}: {text}")

    def layer(self, name, link_type, frames, layers, options):
        frames = frames if isinstance(frames, list) else [frames]
        self.write(link_type, frames)
        status, lines = self.explain()
        packets = [line for line in lines if line["kind"] == "packet"]
        self.judge(name, status == 0 and len(packets) == 1, f"status {status}, {len(packets)} packets, {lines[-1:]}")
        for packet in packets:
            told = packet["headers"]["bth"]["psn"], packet.get("layers"), packet["icrc"], packet["source"], packet["destination"]
            addresses = ("10.9.0.1", "10.9.0.2") if "ipv4" in packet["headers"] else ("fd00::1", "fd00::2")
            self.judge(name, told == (PSN, layers, "right", *addresses), f"it tells {told}")
        checked = subprocess.run([self.verbena, "check", self.path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        self.judge(name, checked.returncode == 0, f"check ends with {checked.returncode}: {checked.stdout}")
        if options is not None:
            self.for_tshark.setdefault(options, []).append((name, link_type, frames))

    def tshark(self):
        for options, rows in self.for_tshark.items():
            with open(self.path, "wb") as file:
                file.write(pcapng(rows))
            seen = subprocess.run(["tshark", "-n", "-r", self.path, *options, "-T", "fields", "-e", "infiniband.bth.psn"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False, timeout=120).stdout.split("\n")
            at = 0
            for name, _, frames in rows:
                told = [line for line in seen[at:at + len(frames)] if line]
                at += len(frames)
                self.judge(name, [int(psn, 0) for line in told for psn in line.split(",")] == [PSN], f"tshark reads {told}")
            self.judge("tshark", len(seen) == at + 1, f"{len(seen) - 1} packets of {at}")

    def cut(self, name, link_type, frame):
        """Wherever a packet is cut, it is read, or called cut, or named: never malformed, and nothing is lost of the count."""
        frames = [frame[:size] for size in range(len(frame))]
        text = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)
        for part in frames:
            text += struct.pack("<IIII", 1, 0, len(part), len(frame)) + part
        with open(self.path, "wb") as file:
            file.write(text)
        status, lines = self.explain()
        told = lines[-1]
        total = told["packets"] + told["other_packets"] + told["headless_packets"] + told["malformed_packets"]
        self.judge(name, total == len(frames) and told["malformed_packets"] == 0, f"cut: status {status}, {told}")
        self.judge(name, told["headless_packets"] > 14, f"cut: {told}")

    def erf_file(self):
        """ERF's records alone are a file, which has no header; one that is cut short ends behind its last whole record."""
        text = b"".join([erf(2, FRAME + bytes(4), bytes(2), 5), erf(48, bytes(16)), erf(0x82, FRAME6, bytes(8) + bytes(2)), erf(1, u16(0x0F00) + u16(0x0800) + roce4()), erf(23, roce6())])
        for cut in (0, 3):
            with open(self.path, "wb") as file:
                file.write(text[:len(text) - cut])
            status, lines = self.explain()
            told = [line["headers"]["bth"]["psn"] for line in lines if line["kind"] == "packet"]
            self.judge("a file of ERF", told == [PSN] * (3 if cut else 4), f"{cut} octets less: status {status}, {told}")
            if shutil.which("tshark") and cut == 0:
                seen = subprocess.run(["tshark", "-n", "-r", self.path, "-T", "fields", "-e", "infiniband.bth.psn"], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False, timeout=60).stdout.split()
                self.judge("a file of ERF", [int(psn, 0) for psn in seen] == told, f"tshark reads {seen}")

    def other(self, link_type, frame, name):
        self.write(link_type, [frame])
        status, lines = self.explain()
        self.judge(name, status == 3 and lines[-1]["others"] == {name: 1}, f"status {status}, {lines}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbena", required=True)
    parser.add_argument("--only", default="", help="rows whose names hold this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(options.verbena, folder)
        rows = [row for row in LAYERS if options.only in row[0]]
        for row in rows:
            trial.layer(*row)
            if not isinstance(row[2], list):
                trial.cut(*row[:3])
        for row in OTHERS:
            trial.other(*row)
        trial.erf_file()
        if shutil.which("tshark"):
            trial.tshark()
    for line in trial.wrong:
        print(line)
    print(f"{len(rows)} layers, {len(OTHERS)} other kinds, {len(trial.wrong)} wrong")
    return 1 if trial.wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
