// Link types: what a capture's records may begin with (the registry of LINKTYPE_ numbers).
// Tested by: tests/captures/peel/peeler_test.cc
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "captures/peel/layer.h"

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

Step strip_ppp_serial(Walk& walk);

/// Endace: 16 octets, further headers of 8 as long as the first bit of type or header says so, then by type.
/// What stands behind them is as long as the header says, padding follows it.
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
  const auto begin = [&walk, wire_bytes](std::size_t own_bytes) {
    if (!walk.left.has(own_bytes)) return false;
    walk.left.drop(own_bytes);
    walk.left.limit(wire_bytes);
    return true;
  };
  switch (type) {
    case 1:   // HDLC_POS
    case 10:  // COLOR_HDLC_POS
    case 15:  // DSM_COLOR_HDLC_POS
    case 19:  // COLOR_HASH_POS
      return begin(0) ? strip_ppp_serial(walk) : Step::short_of;
    case 5:     // MC_HDLC
    case 17: {  // COLOR_MC_HDLC_POS
      constexpr std::size_t kChannelBytes = 4;
      return begin(kChannelBytes) ? strip_ppp_serial(walk) : Step::short_of;
    }
    case 2:     // ETH
    case 11:    // COLOR_ETH
    case 16:    // DSM_COLOR_ETH
    case 20: {  // COLOR_HASH_ETH
      constexpr std::size_t kAlignmentBytes = 2;
      return begin(kAlignmentBytes) ? walk.strip(0, kEthernet) : Step::short_of;
    }
    case 4:    // AAL5
    case 9: {  // MC_AAL5: the header of an ATM cell, then LLC
      const std::size_t channel_bytes = type == 9 ? 4 : 0;
      constexpr std::size_t kCellHeaderBytes = 4;
      return begin(channel_bytes) ? walk.strip(kCellHeaderBytes, kLlc) : Step::short_of;
    }
    case 22:  // IPV4
    case 23:  // IPV6
      return begin(0) ? walk.strip(0, kRawIp) : Step::short_of;
    case 21:  // INFINIBAND
      return begin(0) ? walk.strip(0, kInfiniBand) : Step::short_of;
    case 25:  // INFINIBAND_LINK
      return begin(0) ? strip_infiniband_link(walk) : Step::short_of;
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
/// Frame relay: Q.922's address, of which each octet but the last is even; then as RFC 2427 3 has it, or Cisco, which
/// has an EtherType where others have the control field.
Step strip_frame_relay(Walk& walk) {
  constexpr std::size_t kAddressBytesMax = 4;
  constexpr std::uint32_t kUnnumbered = 3;
  std::size_t address_bytes = 1;
  while (address_bytes <= kAddressBytesMax && walk.left.has(address_bytes) &&
         (walk.left.u8(address_bytes - 1) & 1) == 0)
    ++address_bytes;
  if (!walk.left.has(address_bytes + 2)) return Step::short_of;
  if (address_bytes < 2 || address_bytes > kAddressBytesMax) return Step::broken;
  walk.left.drop(address_bytes);
  if (walk.left.u8(0) != kUnnumbered) return walk.strip(2, ether_type(walk.left.u16(0)));
  walk.left.drop(walk.left.u8(1) == 0 ? 2 : 1);  // one octet of padding, or none
  if (!walk.left.has(1)) return Step::short_of;
  const std::uint32_t protocol = walk.left.u8(0);  // NLPID
  walk.left.drop(1);
  switch (protocol) {
    case 0xcc:
    case 0x8e:
      return walk.strip(0, kRawIp);
    case 0xcf:
      return walk.strip(0, kPpp);
    case 0x80:
      return strip_snap(walk, 0);
    default:
      walk.name = fmt::format("frame relay NLPID {:#04x}", protocol);
      return Step::named;
  }
}
/// Four octets of Sun's driver (libpcap's sunatmpos.h): what AAL5 carries, VPI, VCI. LAN emulation has the number of
/// its client in front of a frame (ATM Forum, LANE 1.0).
Step strip_sun_atm(Walk& walk) {
  constexpr std::uint32_t kLanEmulation = 1;
  constexpr std::uint32_t kEmulationControl = 0xff00;
  constexpr std::uint32_t kLlcEncapsulated = 2;
  if (!walk.left.has(6)) return Step::short_of;
  const std::uint32_t carried = walk.left.u8(0) & 0xf;
  if (carried == kLlcEncapsulated) return walk.strip(4, kLlc);
  if (carried == kLanEmulation && walk.left.u16(4) != kEmulationControl) return walk.strip(6, kEthernet);
  walk.name = fmt::format("ATM traffic of type {}", carried);
  return Step::named;
}
/// IEEE 802.3 clause 65: a preamble with the number of the logical link. DPoE has its sign of encryption in it.
Step strip_epon(Walk& walk) {
  if (!walk.left.has(7)) return Step::short_of;
  if (walk.left.u8(0) == 0x55) walk.left.drop(1);
  if (walk.left.u16(0) != 0xd555) return Step::broken;
  if ((walk.left.u8(2) & 2) != 0) {
    walk.name = "EPON, encrypted";
    return Step::named;
  }
  return walk.strip(6, kEthernet);
}
/// Symantec's firewalls (Wireshark's packet-symantec.c): 44 octets, or 56 since version 3 with the EtherType later on.
Step strip_symantec(Walk& walk) {
  if (!walk.left.has(12)) return Step::short_of;
  const std::uint32_t type = walk.left.u16(6);
  return type != 0 ? walk.strip(44, ether_type(type)) : walk.strip(56, ether_type(walk.left.u16(10)));
}
/// ISO 9314-2: what a frame is, both addresses, then LLC. (Length bit and class do not matter.)
Step strip_fddi(Walk& walk) {
  constexpr std::uint32_t kKind = 0x70;
  constexpr std::uint32_t kLlcFrame = 0x50;
  if (!walk.left.has(1)) return Step::short_of;
  return (walk.left.u8(0) & kKind) == kLlcFrame ? walk.strip(13, kLlc) : Step::named;
}
/// IEEE 802.5: access and frame control, both addresses, the way through bridges where the source's first bit says
/// so, then LLC.
Step strip_token_ring(Walk& walk) {
  constexpr std::size_t kHeaderBytes = 14;
  if (!walk.left.has(kHeaderBytes + 1)) return Step::short_of;
  if (walk.left.u8(1) >> 6 != 1) return Step::named;
  const bool has_way = (walk.left.u8(8) & 0x80) != 0;
  const std::size_t way_bytes = has_way ? walk.left.u8(kHeaderBytes) & 0x1f : 0;
  if (has_way && way_bytes < 2) return Step::broken;
  return walk.strip(kHeaderBytes + way_bytes, kLlc);
}

/// IEEE 802.11 9.2: of data frames those in the clear, whole, with one packet in each.
Step strip_wireless(Walk& walk) {
  constexpr std::size_t kHeaderBytes = 24;
  if (!walk.left.has(kHeaderBytes)) return Step::short_of;
  const std::uint32_t kind = walk.left.u8(0);
  const std::uint32_t flags = walk.left.u8(1);
  const bool has_data = (kind & 0x4f) == 0x08;  // version 0, type 2, and a subtype with data
  const bool is_qos = (kind & 0x80) != 0;
  const bool is_encrypted = (flags & 0x40) != 0;
  const bool is_fragment = (flags & 0x04) != 0 || (walk.left.u8(22) & 0xf) != 0;
  if (!has_data) return Step::named;
  if (is_encrypted || is_fragment) {
    walk.name = is_encrypted ? "802.11, encrypted" : "802.11 fragment";
    return Step::named;
  }
  const std::size_t qos_at = kHeaderBytes + ((flags & 0x03) == 0x03 ? 6 : 0);  // a fourth address between bridges
  if (!is_qos) return walk.strip(qos_at, kLlc);
  if (!walk.left.has(qos_at + 2)) return Step::short_of;
  if ((walk.left.u8(qos_at) & 0x80) != 0) {
    walk.name = "802.11 with several packets in one frame";
    return Step::named;
  }
  const bool has_high_throughput = (flags & 0x80) != 0;
  return walk.strip(qos_at + 2 + (has_high_throughput ? 4 : 0), kLlc);
}
constexpr Announced kWireless{Space::link_type, 105};
/// What a driver has received and how, in front of the frame: radiotap says its length, Prism's has one.
Step strip_radiotap(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  return walk.left.u16_little(2) < 8 ? Step::broken : walk.strip(walk.left.u16_little(2), kWireless);
}
/// AVS' begins with a magic number and its length, under Prism's link type too.
Step strip_prism(Walk& walk) {
  constexpr std::size_t kPrismBytes = 144;
  if (!walk.left.has(8)) return Step::short_of;
  const bool is_avs = walk.left.u32(0) >> 12 == 0x80211;
  return walk.strip(is_avs ? std::size_t{walk.left.u32(4)} : kPrismBytes, kWireless);
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
    link_row(6, "token ring", strip_token_ring),
    link_row(9, "PPP", strip_ppp),
    link_row(10, "FDDI", strip_fddi),
    link_row(12, "raw IP", strip_ip),
    link_row(14, "raw IP", strip_ip),
    link_row(50, "PPP or Cisco HDLC", strip_ppp_serial),
    link_row(51, "PPPoE", begin_pppoe),
    link_row(99, "Symantec firewall", strip_symantec),
    link_row(100, "LLC (RFC 1483)", begin_llc),
    link_row(101, "raw IP", strip_ip),
    link_row(104, "Cisco HDLC", strip_cisco_hdlc),
    link_row(105, "802.11", strip_wireless),
    link_row(107, "frame relay", strip_frame_relay),
    link_row(108, "BSD loopback", strip_null),
    link_row(109, "BSD enc", strip_enc),
    link_row(113, "Linux cooked", strip_cooked_1),
    link_row(117, "BSD pflog", strip_pflog),
    link_row(119, "802.11", strip_prism),
    link_row(123, "ATM", strip_sun_atm),
    link_row(127, "802.11", strip_radiotap),
    link_row(163, "802.11", strip_prism),
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
    link_row(247, "InfiniBand", strip_infiniband),
    link_row(253, "netlink"),
    link_row(258, "PKTAP", strip_pktap),
    link_row(259, "EPON", strip_epon),
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
