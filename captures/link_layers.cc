// Link types: what a capture's records may begin with (the registry of LINKTYPE_ numbers).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "captures/layer.h"

namespace verbena::captures {
namespace {

Announced link_type(std::uint32_t number) {
  return {Space::link_type, number};
}

Step strip_ethernet(Walk& walk) {
  if (!walk.left.has(kEthernetBytes)) return Step::short_of;
  walk.ethernet = walk.left;
  const std::uint32_t type = walk.left.u16(12);
  walk.left.drop(kEthernetBytes);
  if (type >= kEtherTypeMin) {
    walk.next = ether_type(type);
    return Step::next;
  }
  walk.left.limit(type);
  walk.next = kLlc;
  return Step::next;
}

/// BSD: four octets of address family in the host's byte order (LOOP: in the network's).
Step strip_null(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t big = walk.left.u32(0);
  const std::uint32_t family = big < 0x10000 ? big : walk.left.u32_little(0);
  constexpr std::uint32_t kIpv4 = 2;
  constexpr std::array<std::uint32_t, 4> kIpv6{10, 24, 28, 30};  // Linux, NetBSD and OpenBSD, FreeBSD, macOS
  if (family != kIpv4 && std::find(kIpv6.begin(), kIpv6.end(), family) == kIpv6.end()) {
    walk.name = fmt::format("address family {}", family);
    return Step::named;
  }
  return walk.strip(4, kRawIp);
}

/// Linux cooked: the protocol is an EtherType, or one of the kernel's own numbers (linux/if_ether.h), or that of GRE
/// where the device is a GRE tunnel.
Step strip_cooked(Walk& walk, std::size_t header_bytes, std::size_t protocol_at) {
  if (!walk.left.has(header_bytes)) return Step::short_of;
  const std::uint32_t protocol = walk.left.u16(protocol_at);
  constexpr std::uint32_t kLlcFrame = 4;
  if (protocol >= kEtherTypeMin) return walk.strip(header_bytes, ether_type(protocol));
  if (protocol == kLlcFrame) return walk.strip(header_bytes, kLlc);
  walk.name = fmt::format("Linux cooked protocol {}", protocol);
  return Step::named;
}
Step strip_cooked_1(Walk& walk) {
  return strip_cooked(walk, 16, 14);
}
Step strip_cooked_2(Walk& walk) {
  return strip_cooked(walk, 20, 0);
}

/// Endace: 16 octets, further headers of 8 as long as the first bit of type or header says so, then by type.
Step strip_erf(Walk& walk) {
  constexpr std::size_t kHeaderBytes = 16;
  if (!walk.left.has(kHeaderBytes)) return Step::short_of;
  const std::uint32_t type = walk.left.u8(8) & 0x7f;
  const std::uint32_t wire_bytes = walk.left.u16(14);
  bool has_more = (walk.left.u8(8) & 0x80) != 0;
  walk.left.drop(kHeaderBytes);
  while (has_more) {
    if (!walk.left.has(8)) return Step::short_of;
    has_more = (walk.left.u8(0) & 0x80) != 0;
    walk.left.drop(8);
  }
  switch (type) {
    case 2:     // ETH
    case 11:    // COLOR_ETH
    case 16:    // DSM_COLOR_ETH
    case 20: {  // COLOR_HASH_ETH
      if (!walk.left.has(2)) return Step::short_of;
      walk.left.drop(2);  // of alignment
      walk.left.limit(wire_bytes);
      walk.next = kEthernet;
      return Step::next;
    }
    case 22:  // IPV4
    case 23:  // IPV6
      walk.next = kRawIp;
      return Step::next;
    case 21:
    case 25:
      walk.name = "InfiniBand (ERF)";
      return Step::named;
    default:
      walk.name = fmt::format("ERF type {}", type);
      return Step::named;
  }
}

/// netfilter's log: four octets, then attributes in the host's byte order until that of the packet.
Step strip_nflog(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  constexpr std::uint32_t kPayload = 9;
  const bool is_little = walk.left.u16_little(4) <= walk.left.u16(4);
  walk.left.drop(4);
  while (walk.left.has(4)) {
    const std::uint32_t bytes = is_little ? walk.left.u16_little(0) : walk.left.u16(0);
    const std::uint32_t type = (is_little ? walk.left.u16_little(2) : walk.left.u16(2)) & 0x7fff;
    if (bytes < 4) return Step::broken;
    if (type == kPayload) {
      walk.left.limit(bytes);
      return walk.strip(4, kRawIp);
    }
    const std::size_t padded = (std::size_t{bytes} + 3) / 4 * 4;
    if (!walk.left.has(padded)) return Step::short_of;
    walk.left.drop(padded);
  }
  walk.name = "NFLOG without a packet";
  return Step::named;
}

/// A header that says how long it is and which link type follows, both little-endian.
Step strip_described(Walk& walk, std::uint32_t header_bytes, std::uint32_t type) {
  if (header_bytes < 8) return Step::broken;
  return walk.strip(header_bytes, link_type(type));
}
Step strip_pktap(Walk& walk) {
  if (!walk.left.has(12)) return Step::short_of;
  return strip_described(walk, walk.left.u32_little(0), walk.left.u32_little(8));
}
Step strip_ppi(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  return strip_described(walk, walk.left.u16_little(2), walk.left.u32_little(4));
}

Step strip_ppp(Walk& walk) {
  if (!walk.left.has(1)) return Step::short_of;
  if (walk.left.u16(0) == 0xff03) walk.left.drop(2);  // address and control (RFC 1662)
  if (!walk.left.has(2)) return Step::short_of;
  // One octet where it is odd (RFC 1661 6.5).
  const bool is_short = (walk.left.u8(0) & 1) != 0;
  const std::uint32_t protocol = is_short ? walk.left.u8(0) : walk.left.u16(0);
  return walk.strip(is_short ? 1 : 2, {Space::ppp, protocol});
}
Step strip_cisco_hdlc(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  return walk.strip(4, ether_type(walk.left.u16(2)));
}
Step strip_ppp_serial(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t address = walk.left.u8(0);
  return address == 0x0f || address == 0x8f ? strip_cisco_hdlc(walk) : strip_ppp(walk);
}
Step strip_ppp_direction(Walk& walk) {
  return walk.strip(1, kPpp);
}

Step strip_enc(Walk& walk) {
  return walk.strip(12, kRawIp);
}
Step strip_pflog(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  return walk.strip((std::size_t{walk.left.u8(0)} + 3) / 4 * 4, kRawIp);
}
Step strip_preamble(Walk& walk) {
  return walk.strip(8, kEthernet);
}
Step strip_netanalyzer(Walk& walk) {
  return walk.strip(4, kEthernet);
}
/// Juniper's: "MGC", flags, and where they say so further fields with their length.
Step strip_juniper(Walk& walk) {
  if (!walk.left.has(6)) return Step::short_of;
  if (walk.left.u24(0) != 0x4d4743) return Step::broken;
  const std::uint32_t flags = walk.left.u8(3);
  const std::size_t bytes = (flags & 0x80) != 0 ? 6 + walk.left.u16(4) : 4;
  return walk.strip(bytes, (flags & 0x02) != 0 ? kRawIp : kEthernet);
}
Step begin_llc(Walk& walk) {
  return walk.strip(0, kLlc);
}
Step begin_pppoe(Walk& walk) {
  return walk.strip(0, ether_type(0x8864));
}

constexpr LayerRow link_row(std::uint32_t number, std::string_view name, Step (*strip)(Walk&) = nullptr) {
  return {{Space::link_type, number}, name, strip};
}

constexpr LayerRow kLinkRows[] = {
    link_row(0, "BSD loopback", strip_null),
    link_row(1, "Ethernet", strip_ethernet),
    link_row(9, "PPP", strip_ppp),
    link_row(12, "raw IP", strip_ip),
    link_row(14, "raw IP", strip_ip),
    link_row(50, "PPP or Cisco HDLC", strip_ppp_serial),
    link_row(51, "PPPoE", begin_pppoe),
    link_row(100, "LLC (RFC 1483)", begin_llc),
    link_row(101, "raw IP", strip_ip),
    link_row(104, "Cisco HDLC", strip_cisco_hdlc),
    link_row(105, "802.11"),
    link_row(108, "BSD loopback", strip_null),
    link_row(109, "BSD enc", strip_enc),
    link_row(113, "Linux cooked", strip_cooked_1),
    link_row(117, "BSD pflog", strip_pflog),
    link_row(119, "802.11"),
    link_row(127, "802.11"),
    link_row(163, "802.11"),
    link_row(166, "PPP", strip_ppp_direction),
    link_row(178, "Juniper Ethernet", strip_juniper),
    link_row(189, "USB"),
    link_row(192, "PPI", strip_ppi),
    link_row(197, "ERF", strip_erf),
    link_row(204, "PPP", strip_ppp_direction),
    link_row(219, "MPLS", begin_mpls),
    link_row(220, "USB"),
    link_row(228, "raw IP", strip_ip),
    link_row(229, "raw IP", strip_ip),
    link_row(239, "NFLOG", strip_nflog),
    link_row(240, "netANALYZER", strip_netanalyzer),
    link_row(242, "IP over InfiniBand"),
    link_row(247, "InfiniBand"),
    link_row(253, "netlink"),
    link_row(258, "PKTAP", strip_pktap),
    link_row(274, "Ethernet mPacket", strip_preamble),
    link_row(276, "Linux cooked", strip_cooked_2),
    // NetBSD's way to say that packets begin with IP: a class in the upper half, the address family in the lower.
    link_row(0x02240002, "raw IP", strip_ip),
    link_row(0x02240018, "raw IP", strip_ip),
};

}  // namespace

std::span<const LayerRow> link_layers() {
  return kLinkRows;
}

}  // namespace verbena::captures
