// What is announced by an EtherType, by PPP's protocol or by an LLC address: tags, labels, sessions.
// Tested by: tests/captures/peel/peeler_test.cc
#include <fmt/format.h>

#include "captures/peel/layer.h"

namespace verbena::captures {
namespace {

/// What follows a tag: a type, or a length (IEEE 802.1Q 9.4).
Step strip_tag(Walk& walk, std::size_t bytes, std::size_t type_at) {
  if (!walk.left.has(bytes)) return Step::short_of;
  const std::uint32_t type = walk.left.u16(type_at);
  if (type >= kEtherTypeMin) return walk.strip(bytes, ether_type(type));
  walk.left.drop(bytes);
  walk.left.limit(type);
  walk.next = kLlc;
  return Step::next;
}

Step strip_vlan(Walk& walk) {
  walk.inside(fmt::format("{} {}", walk.before.number == 0x88a8 ? "S-VLAN" : "VLAN", walk.left.u16(0) & 0xfff));
  return strip_tag(walk, 4, 2);
}

/// IEEE 802.1ah: the service's number, then a frame with both addresses.
Step strip_pbb(Walk& walk) {
  walk.inside(fmt::format("PBB {}", walk.left.u24(1)));
  return walk.strip(4, kEthernet);
}

/// IEEE 802.1AE 9.3: what is not encrypted can be read; the check value stands behind it.
Step strip_macsec(Walk& walk) {
  if (!walk.left.has(6)) return Step::short_of;
  constexpr std::uint32_t kHasChannel = 0x20;
  constexpr std::uint32_t kEncrypted = 0x08;
  constexpr std::uint32_t kChanged = 0x04;
  const std::uint32_t control = walk.left.u8(0);
  if ((control & (kEncrypted | kChanged)) != 0) {
    walk.name = "MACsec, encrypted";
    return Step::named;
  }
  walk.inside("MACsec");
  const std::size_t bytes = (control & kHasChannel) != 0 ? 14 : 6;
  return strip_tag(walk, bytes + 2, bytes);
}

Step strip_cisco_metadata(Walk& walk) {
  walk.inside("Cisco metadata");
  return strip_tag(walk, 8, 6);
}
Step strip_fabric_path(Walk& walk) {
  walk.inside(fmt::format("FabricPath {}", walk.left.u16(0) >> 6));
  return walk.strip(2, kEthernet);
}
Step strip_vn_tag(Walk& walk) {
  walk.inside("VN-tag");
  return strip_tag(walk, 6, 4);
}
Step strip_e_tag(Walk& walk) {
  walk.inside("E-tag");
  return strip_tag(walk, 8, 6);
}
/// IEEE 802.1CB 7.8; and IEC 62439-3, which has the ring's path and the frame's size where the other has nothing.
Step strip_redundancy_tag(Walk& walk) {
  walk.inside("R-tag");
  return strip_tag(walk, 6, 4);
}
Step strip_hsr(Walk& walk) {
  walk.inside("HSR");
  return strip_tag(walk, 6, 4);
}
/// RFC 6325 3.1: options are counted in words.
Step strip_trill(Walk& walk) {
  if (!walk.left.has(6)) return Step::short_of;
  walk.inside("TRILL");
  return walk.strip(6 + (walk.left.u16(0) >> 6 & 0x1f) * 4, kEthernet);
}
/// Arista's time stamps in front: of 8 octets, or of 6.
Step strip_arista(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::size_t stamp = walk.left.u16(2) == 0x20 ? 6 : 8;
  walk.inside("Arista time stamp");
  return strip_tag(walk, 4 + stamp + 2, 4 + stamp);
}
/// RFC 8300 2.
Step strip_nsh(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  const std::size_t bytes = (walk.left.u16(0) & 0x3f) * std::size_t{4};
  if (bytes < 8) return Step::broken;
  const std::uint32_t path = walk.left.u24(4);
  walk.inside(fmt::format("NSH {}", path));
  switch (walk.left.u8(3)) {
    case 1:
    case 2:
      return walk.strip(bytes, kRawIp);
    case 3:
      return walk.strip(bytes, kEthernet);
    case 5:
      return walk.strip(bytes, ether_type(0x8847));
    default:
      return Step::named;
  }
}

/// RFC 2516 4: version and type, code 0 for data, session, length.
Step strip_pppoe(Walk& walk) {
  if (!walk.left.has(6)) return Step::short_of;
  const std::uint32_t session = walk.left.u16(2);
  const std::uint32_t bytes = walk.left.u16(4);
  if (walk.left.u8(1) != 0) return Step::named;
  walk.inside(fmt::format("PPPoE {}", session));
  walk.left.drop(6);
  walk.left.limit(bytes);
  walk.next = kPpp;
  return Step::next;
}

Step begin_ppp(Walk& walk) {
  return walk.strip(0, kPpp);
}

/// ERSPAN: of what GRE calls 0x88be type I has no header of its own, and no sequence number in GRE's.
Step strip_erspan(Walk& walk) {
  const bool looks_like_2 = walk.left.u8(0) >> 4 == 1 && looks_like_ethernet(walk.left, 8);
  if (!walk.has_sequence && !(looks_like_2 && !looks_like_ethernet(walk.left, 0))) {
    walk.inside("ERSPAN");
    return begin_ethernet(walk);
  }
  if (!walk.left.has(8)) return Step::short_of;
  if (walk.left.u8(0) >> 4 != 1) return Step::broken;
  walk.inside(fmt::format("ERSPAN {}", walk.left.u16(2) & 0x3ff));
  return walk.strip(8, kEthernet);
}
/// Type III: twelve octets, eight more where the last bit says so; what it carries is a frame or an IP packet.
Step strip_erspan_3(Walk& walk) {
  if (!walk.left.has(12)) return Step::short_of;
  if (walk.left.u8(0) >> 4 != 2) return Step::broken;
  walk.inside(fmt::format("ERSPAN {}", walk.left.u16(2) & 0x3ff));
  constexpr std::uint32_t kIpPacket = 2;
  const bool has_more = (walk.left.u8(11) & 1) != 0;
  const std::uint32_t frame_type = walk.left.u16(10) >> 10 & 0x1f;
  return walk.strip(has_more ? 20 : 12, frame_type == kIpPacket ? kRawIp : kEthernet);
}

/// WCCP redirects packets with nothing in front, its version 2 with four octets (draft-wilson-wrec-wccp-v2): which one
/// it is, only the IP version behind it says.
Step strip_wccp(Walk& walk) {
  if (!walk.left.has(1)) return Step::short_of;
  walk.inside("WCCP");
  return walk.strip(walk.left.u8(0) >> 4 == 4 ? 0 : 4, kRawIp);
}

/// IEEE 802.2: SNAP where both addresses are 0xaa; IP has an address of its own.
Step strip_llc(Walk& walk) {
  if (!walk.left.has(3)) return Step::short_of;
  const std::uint32_t addresses = walk.left.u16(0);
  if (addresses == 0x0606) return walk.strip(3, kRawIp);
  if (addresses != 0xaaaa) {
    walk.name = addresses == 0x4242 ? "STP" : addresses == 0xfefe ? "IS-IS" : fmt::format("LLC {:#06x}", addresses);
    return Step::named;
  }
  walk.left.drop(3);
  constexpr std::size_t kBridgedPadding = 2;  // RFC 2684 5.2
  return strip_snap(walk, kBridgedPadding);
}

constexpr LayerRow type_row(std::uint32_t number, std::string_view name, Step (*strip)(Walk&) = nullptr,
                            bool is_tunnel = false) {
  return {{Space::ether_type, number}, name, strip, is_tunnel};
}

constexpr LayerRow kEtherTypeRows[] = {
    type_row(0x0800, "IPv4", strip_ip),
    type_row(0x0806, "ARP"),
    type_row(0x0842, "Wake-on-LAN"),
    type_row(0x22ea, "802.1Qat"),
    type_row(0x22eb, "ERSPAN", strip_erspan_3, kIsTunnel),
    type_row(0x22f0, "AVTP"),
    type_row(0x22f3, "TRILL", strip_trill, kIsTunnel),
    type_row(0x6558, "Ethernet", begin_ethernet),
    type_row(0x8035, "RARP"),
    type_row(0x8100, "VLAN", strip_vlan),
    type_row(0x86dd, "IPv6", strip_ip),
    type_row(0x8808, "MAC control (pause)"),
    type_row(0x8809, "LACP"),
    type_row(0x880b, "PPP", begin_ppp),
    type_row(0x8847, "MPLS", strip_mpls, kIsTunnel),
    type_row(0x8848, "MPLS", strip_mpls, kIsTunnel),
    type_row(0x8863, "PPPoE discovery"),
    type_row(0x883e, "WCCP", strip_wccp, kIsTunnel),
    type_row(0x8864, "PPPoE", strip_pppoe, kIsTunnel),
    type_row(0x888e, "EAPOL"),
    type_row(0x88a8, "S-VLAN", strip_vlan),
    type_row(0x8892, "PROFINET"),
    type_row(0x88a4, "EtherCAT"),
    type_row(0x88be, "ERSPAN", strip_erspan, kIsTunnel),
    type_row(0x88cc, "LLDP"),
    type_row(0x88e5, "MACsec", strip_macsec),
    type_row(0x88e7, "PBB", strip_pbb, kIsTunnel),
    type_row(0x88f7, "PTP"),
    type_row(0x88fb, "HSR and PRP supervision"),
    type_row(0x8902, "CFM"),
    type_row(0x8903, "FabricPath", strip_fabric_path, kIsTunnel),
    type_row(0x8906, "FCoE"),
    type_row(0x8909, "Cisco metadata", strip_cisco_metadata),
    type_row(0x8914, "FCoE initialization"),
    type_row(0x8915, "RoCE v1", find_roce_v1),
    type_row(0x8926, "VN-tag", strip_vn_tag),
    type_row(0x892f, "HSR", strip_hsr),
    type_row(0x893f, "E-tag", strip_e_tag),
    type_row(0x894f, "NSH", strip_nsh, kIsTunnel),
    type_row(0x9000, "loopback test"),
    type_row(0x9100, "VLAN", strip_vlan),
    type_row(0x9200, "VLAN", strip_vlan),
    type_row(0x9300, "VLAN", strip_vlan),
    type_row(0xd28b, "Arista time stamp", strip_arista),
    type_row(0xf1c1, "R-tag", strip_redundancy_tag),
    {{Space::ppp, 0x21}, "IPv4", strip_ip},
    {{Space::ppp, 0x57}, "IPv6", strip_ip},
    {{Space::ppp, 0x281}, "MPLS", begin_mpls},
    {{Space::ppp, 0x283}, "MPLS", begin_mpls},
    {{Space::ppp, 0xc021}, "LCP"},
    {{Space::ppp, 0x8021}, "IPCP"},
    {{Space::sap, 0}, "LLC", strip_llc},
};

}  // namespace

std::span<const LayerRow> ether_type_layers() {
  return kEtherTypeRows;
}

Step strip_snap(Walk& walk, std::size_t bridged_padding) {
  constexpr std::size_t kBytes = 5;
  if (!walk.left.has(kBytes)) return Step::short_of;
  const std::uint32_t organisation = walk.left.u24(0);
  const std::uint32_t type = walk.left.u16(3);
  constexpr std::uint32_t kEtherTypes = 0;
  constexpr std::uint32_t kBridgeTunnel = 0x0000f8;
  constexpr std::uint32_t kBridged = 0x0080c2;  // RFC 2684 5.2: with a check sequence behind the frame, or without
  if (organisation == kEtherTypes || organisation == kBridgeTunnel) return walk.strip(kBytes, ether_type(type));
  if (organisation == kBridged && (type == 1 || type == 7)) return walk.strip(kBytes + bridged_padding, kEthernet);
  walk.name = organisation == 0x00000c && type == 0x2000 ? std::string("CDP")
                                                         : fmt::format("SNAP {:06x}:{:04x}", organisation, type);
  return Step::named;
}

bool looks_like_ethernet(const Octets& octets, std::size_t at) {
  if (!octets.has(at + 14)) return false;
  const LayerRow* found = find_layer(ether_type(octets.u16(at + 12)));
  return found != nullptr && found->strip != nullptr;
}

bool looks_like_ip(const Octets& octets, std::size_t at) {
  if (!octets.has(at + 20)) return false;
  const std::size_t on_wire = octets.on_wire() - at;
  const std::uint32_t first = octets.u8(at);
  if (first >> 4 == 4) return (first & 0xf) >= 5 && octets.u16(at + 2) >= 20 && octets.u16(at + 2) <= on_wire;
  return first >> 4 == 6 && octets.has(at + 40) && octets.u16(at + 4) + std::size_t{40} <= on_wire;
}

Step strip_mpls(Walk& walk) {
  constexpr std::size_t kLabelsMax = 16;
  std::string labels;
  bool is_last = false;
  for (std::size_t i = 0; i < kLabelsMax && !is_last; ++i) {
    if (!walk.left.has(4)) return Step::short_of;
    labels += fmt::format("{}{}", labels.empty() ? "" : "/", walk.left.u32(0) >> 12);
    is_last = (walk.left.u8(2) & 1) != 0;
    walk.left.drop(4);
  }
  if (!is_last) return Step::broken;
  if (!walk.left.has(1)) return Step::short_of;
  walk.inside("MPLS " + labels);
  // Nothing says what is labelled: an IP packet by its version, else a frame, with a control word (RFC 4385) or not.
  const std::uint32_t nibble = walk.left.u8(0) >> 4;
  constexpr std::size_t kControlWord = 4;
  if (looks_like_ip(walk.left, 0)) return walk.strip(0, kRawIp);
  if (nibble == 0 && looks_like_ethernet(walk.left, kControlWord)) return walk.strip(kControlWord, kEthernet);
  if (looks_like_ethernet(walk.left, 0)) return walk.strip(0, kEthernet);
  if (nibble == 1) {
    walk.name = "MPLS associated channel";
    return Step::named;
  }
  if (nibble == 4 || nibble == 6) return walk.strip(0, kRawIp);
  if (nibble == 0 && walk.left.has(kControlWord)) return walk.strip(kControlWord, kEthernet);
  return walk.strip(0, kEthernet);
}

}  // namespace verbena::captures
