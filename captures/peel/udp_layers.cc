// What is announced by UDP's destination port: tunnels, and services by their names.
// Tested by: tests/captures/peel/peeler_test.cc, tests/captures/layers.py
#include <fmt/format.h>

#include "captures/peel/layer.h"

namespace verbena::captures {
namespace {

/// RFC 7348 5; Linux' first port is another.
Step strip_vxlan(Walk& walk) {
  walk.inside(fmt::format("VXLAN {}", walk.left.u24(4)));
  return walk.strip(8, kEthernet);
}

/// The generic protocol extension says what it carries.
Step strip_vxlan_gpe(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  constexpr std::uint32_t kHasProtocol = 0x04;
  const std::uint32_t protocol = (walk.left.u8(0) & kHasProtocol) != 0 ? walk.left.u8(3) : 3;
  walk.inside(fmt::format("VXLAN {}", walk.left.u24(4)));
  switch (protocol) {
    case 1:
    case 2:
      return walk.strip(8, kRawIp);
    case 3:
      return walk.strip(8, kEthernet);
    case 4:
      return walk.strip(8, ether_type(0x894f));
    case 5:
      return walk.strip(8, ether_type(0x8847));
    default:
      return Step::named;
  }
}

/// RFC 8926 3.4: options are counted in words.
Step strip_geneve(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  if (walk.left.u8(0) >> 6 != 0) return Step::broken;
  const std::size_t bytes = 8 + (walk.left.u8(0) & 0x3f) * std::size_t{4};
  const std::uint32_t type = walk.left.u16(2);
  walk.inside(fmt::format("Geneve {}", walk.left.u24(4)));
  return walk.strip(bytes, ether_type(type));
}

/// 3GPP TS 29.281 5: fields that any of three flags brings, then extension headers in words.
Step strip_gtp(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  const std::uint32_t flags = walk.left.u8(0);
  constexpr std::uint32_t kPacket = 0xff;
  if (flags >> 5 != 1) return Step::broken;
  if (walk.left.u8(1) != kPacket) {
    walk.name = "GTP-U control";
    return Step::named;
  }
  walk.inside(fmt::format("GTP-U {}", walk.left.u32(4)));
  walk.left.drop(8);
  if ((flags & 7) == 0) return walk.strip(0, kRawIp);
  if (!walk.left.has(4)) return Step::short_of;
  std::uint32_t extension = (flags & 4) != 0 ? walk.left.u8(3) : 0;
  walk.left.drop(4);
  while (extension != 0) {
    const std::size_t bytes = walk.left.u8(0) * std::size_t{4};
    if (!walk.left.has(bytes) || !walk.left.has(1)) return Step::short_of;
    if (bytes == 0) return Step::broken;
    extension = walk.left.u8(bytes - 1);
    walk.left.drop(bytes);
  }
  return walk.strip(0, kRawIp);
}

/// TaZmen's sniffer protocol: four octets, then tags, of which two have no length.
Step strip_tzsp(Walk& walk) {
  constexpr std::uint32_t kPadding = 0;
  constexpr std::uint32_t kEnd = 1;
  constexpr std::uint32_t kEthernetFrame = 1;
  constexpr std::uint32_t kWirelessFrame = 18;
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t protocol = walk.left.u16(2);
  walk.inside("TZSP");
  walk.left.drop(4);
  for (;;) {
    if (!walk.left.has(1)) return Step::short_of;
    const std::uint32_t tag = walk.left.u8(0);
    const std::size_t bytes = tag == kPadding || tag == kEnd ? 1 : std::size_t{2} + walk.left.u8(1);
    if (!walk.left.has(bytes)) return Step::short_of;
    walk.left.drop(bytes);
    if (tag == kEnd) break;
  }
  if (protocol == kEthernetFrame) return walk.strip(0, kEthernet);
  if (protocol == kWirelessFrame) return walk.strip(0, {Space::link_type, 105});
  walk.name = fmt::format("TZSP protocol {}", protocol);
  return Step::named;
}

/// RFC 2661 3.1: version 2 carries PPP; version 3 over UDP has its session behind four octets (RFC 3931 4.1.2).
Step strip_l2tp(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  const std::uint32_t flags = walk.left.u16(0);
  constexpr std::uint32_t kControl = 0x8000;
  constexpr std::uint32_t kHasLength = 0x4000;
  constexpr std::uint32_t kHasSequence = 0x0800;
  constexpr std::uint32_t kHasOffset = 0x0200;
  if ((flags & kControl) != 0) {
    walk.name = "L2TP control";
    return Step::named;
  }
  if ((flags & 0xf) == 3) return walk.strip(4, {Space::ip_protocol, 115});
  if ((flags & 0xf) != 2) return Step::broken;
  const std::size_t session_at = (flags & kHasLength) != 0 ? 6 : 4;
  std::size_t bytes = session_at + 2 + ((flags & kHasSequence) != 0 ? 4 : 0);
  if ((flags & kHasOffset) != 0) bytes += 2 + walk.left.u16(bytes);
  walk.inside(fmt::format("L2TP {}", walk.left.u16(session_at)));
  return walk.strip(bytes, kPpp);
}

/// Generic UDP encapsulation: version 0 says an IP protocol, version 1 is an IP packet at once.
Step strip_gue(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t first = walk.left.u8(0);
  walk.inside("GUE");
  if (first >> 6 == 1) return walk.strip(0, kRawIp);
  if (first >> 6 != 0) return Step::broken;
  if ((first & 0x20) != 0) return Step::named;  // control
  const std::uint32_t protocol = walk.left.u8(1);
  return walk.strip(4 + (first & 0x1f) * std::size_t{4}, {Space::ip_protocol, protocol});
}

/// RFC 9300 5.3, and its way to carry frames.
Step strip_lisp(Walk& walk) {
  walk.inside("LISP");
  return walk.strip(8, kRawIp);
}
Step strip_teredo(Walk& walk) {
  if (!looks_like_ip(walk.left, 0)) return Step::named;
  walk.inside("Teredo");
  return walk.strip(0, kRawIp);
}
/// RFC 7450 5.1.6: of its messages only one carries packets of others; IGMP and MLD are in two more.
Step strip_amt(Walk& walk) {
  if (!walk.left.has(1)) return Step::short_of;
  constexpr std::uint32_t kMulticastData = 6;
  const std::uint32_t type = walk.left.u8(0) & 0xf;
  if (walk.left.u8(0) >> 4 != 0) return Step::broken;
  if (type != kMulticastData) {
    walk.name = "AMT control";
    return Step::named;
  }
  walk.inside("AMT");
  return walk.strip(2, kRawIp);
}
/// Juniper's packet mirroring (JunosE): the mirror's number and the session's, then IP, or PPP where that is mirrored.
Step strip_juniper_mirror(Walk& walk) {
  if (!walk.left.has(9)) return Step::short_of;
  walk.inside(fmt::format("Juniper mirror {}", walk.left.u32(0)));
  constexpr std::uint32_t kPppAddress = 0xff;
  return walk.strip(8, walk.left.u8(8) == kPppAddress ? kPpp : kRawIp);
}
Step strip_hp_mirror(Walk& walk) {
  walk.inside("HP ERM");
  return walk.strip(12, kEthernet);
}

constexpr LayerRow udp_row(std::uint32_t number, std::string_view name) {
  return {{Space::udp_port, number}, name, nullptr, false};
}
constexpr LayerRow udp_row(std::uint32_t number, std::string_view name, Step (*strip)(Walk&)) {
  return {{Space::udp_port, number}, name, strip, kIsTunnel};
}

constexpr LayerRow kUdpRows[] = {
    udp_row(53, "DNS"),
    udp_row(67, "DHCP"),
    udp_row(68, "DHCP"),
    udp_row(69, "TFTP"),
    udp_row(123, "NTP"),
    udp_row(137, "NetBIOS"),
    udp_row(138, "NetBIOS"),
    udp_row(161, "SNMP"),
    udp_row(319, "PTP"),
    udp_row(320, "PTP"),
    udp_row(443, "QUIC"),
    udp_row(500, "IKE"),
    udp_row(514, "syslog"),
    udp_row(546, "DHCPv6"),
    udp_row(547, "DHCPv6"),
    udp_row(1701, "L2TP", strip_l2tp),
    udp_row(1900, "SSDP"),
    udp_row(2152, "GTP-U", strip_gtp),
    udp_row(2268, "AMT", strip_amt),
    udp_row(3544, "Teredo", strip_teredo),
    udp_row(3784, "BFD"),
    udp_row(3785, "BFD"),
    udp_row(4341, "LISP", strip_lisp),
    udp_row(4500, "IPsec ESP in UDP"),
    udp_row(4789, "VXLAN", strip_vxlan),
    udp_row(4790, "VXLAN-GPE", strip_vxlan_gpe),
    udp_row(5246, "CAPWAP control"),
    udp_row(5247, "CAPWAP"),
    udp_row(5353, "mDNS"),
    udp_row(5355, "LLMNR"),
    udp_row(6080, "GUE", strip_gue),
    udp_row(6081, "Geneve", strip_geneve),
    udp_row(6343, "sFlow"),
    udp_row(6635, "MPLS in UDP", begin_mpls),
    udp_row(7932, "HP ERM", strip_hp_mirror),
    udp_row(8472, "VXLAN", strip_vxlan),
    udp_row(30030, "Juniper mirror", strip_juniper_mirror),
    udp_row(37008, "TZSP", strip_tzsp),
    udp_row(51820, "WireGuard"),
};

}  // namespace

std::span<const LayerRow> udp_layers() {
  return kUdpRows;
}

}  // namespace verbena::captures
