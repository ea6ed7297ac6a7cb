// IP, and what is announced by its protocol number: extension headers, tunnels, transports.
// Tested by: tests/captures/peel/peeler_test.cc
#include <fmt/format.h>

#include <algorithm>

#include "captures/peel/layer.h"

namespace verbena::captures {
namespace {

Announced ip_protocol(std::uint32_t number) {
  return {Space::ip_protocol, number};
}

wire::Gid gid_at(const Octets& octets, std::size_t at) {
  wire::Gid gid;
  for (std::size_t i = 0; i < gid.octets.size(); ++i) gid.octets[i] = static_cast<std::uint8_t>(octets.u8(at + i));
  return gid;
}

/// Where the header stands that is being stripped, with what stands directly in front.
void note_header(Walk& walk, bool is_v4, std::size_t bytes) {
  walk.left.limit(bytes);
  walk.ip = {};
  walk.ip.packet = walk.left;
  walk.ip.is_v4 = is_v4;
  walk.ip.has_ethernet = walk.behind_ethernet;
  if (walk.behind_ethernet) {
    walk.ip.frame = walk.ethernet;
    walk.ip.frame.limit(kEthernetBytes + walk.left.on_wire());
  }
  walk.has_ip = true;
}

Step strip_ipv4(Walk& walk) {
  if (!walk.left.has(kIpv4Bytes)) return Step::short_of;
  const std::size_t header_bytes = (walk.left.u8(0) & 0xf) * std::size_t{4};
  // Segmentation offload leaves the length 0.
  const std::size_t bytes = walk.left.u16(2) == 0 ? walk.left.on_wire() : walk.left.u16(2);
  if (header_bytes < kIpv4Bytes || bytes < header_bytes) return Step::broken;
  const std::uint32_t fragment = walk.left.u16(6);
  const std::uint32_t number = walk.left.u8(9);
  const std::uint32_t identification = walk.left.u16(4);
  note_header(walk, true, bytes);
  if (!walk.left.has(header_bytes)) return Step::short_of;
  walk.ip.is_plain = header_bytes == kIpv4Bytes;
  if (!walk.ip.is_plain) walk.inside("IPv4 options");
  walk.ip.transport_at = header_bytes;
  const Step step = walk.strip(header_bytes, ip_protocol(number));
  constexpr std::uint32_t kMoreFragments = 0x2000;
  constexpr std::uint32_t kOffset = 0x1fff;
  if ((fragment & (kMoreFragments | kOffset)) == 0) return step;
  walk.piece = {identification, number, (fragment & kOffset) * std::size_t{8}, (fragment & kMoreFragments) == 0};
  return Step::fragment;
}

Step strip_ipv6(Walk& walk) {
  if (!walk.left.has(kIpv6Bytes)) return Step::short_of;
  // A jumbogram has the length 0, and so has what segmentation offload leaves.
  const std::size_t payload = walk.left.u16(4);
  const std::uint32_t number = walk.left.u8(6);
  note_header(walk, false, payload == 0 ? walk.left.on_wire() : kIpv6Bytes + payload);
  walk.ip.transport_at = kIpv6Bytes;
  return walk.strip(kIpv6Bytes, ip_protocol(number));
}

/// RFC 8200 4: a header between IPv6's and the transport's.
Step strip_extension(Walk& walk, std::size_t bytes) {
  if (!walk.left.has(2)) return Step::short_of;
  walk.ip.is_plain = false;
  walk.ip.transport_at += bytes;
  return walk.strip(bytes, ip_protocol(walk.left.u8(0)));
}
std::size_t extension_bytes(const Walk& walk) {
  return (walk.left.u8(1) + std::size_t{1}) * 8;
}
Step strip_hop_by_hop(Walk& walk) {
  walk.inside("IPv6 hop-by-hop options");
  return strip_extension(walk, extension_bytes(walk));
}
Step strip_options(Walk& walk) {
  walk.inside("IPv6 destination options");
  return strip_extension(walk, extension_bytes(walk));
}
Step strip_other_extension(Walk& walk) {
  walk.inside("IPv6 extension header");
  return strip_extension(walk, extension_bytes(walk));
}

/// As long as segments are left, the destination in IPv6's header is one of those on the way. The last one stands first
/// in a segment routing header (RFC 8754 2), last in the older types.
Step strip_routing(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  const std::size_t bytes = extension_bytes(walk);
  const std::uint32_t type = walk.left.u8(2);
  constexpr std::uint32_t kSegmentRouting = 4;
  walk.inside(type == kSegmentRouting ? "SRv6" : "IPv6 routing header");
  if (walk.left.u8(3) != 0 && bytes >= 24 && walk.left.has(bytes))
    walk.ip.final_destination = gid_at(walk.left, type == kSegmentRouting ? 8 : bytes - 16);
  return strip_extension(walk, bytes);
}

Step strip_fragment(Walk& walk) {
  if (!walk.left.has(8)) return Step::short_of;
  const std::uint32_t field = walk.left.u16(2);
  const std::uint32_t number = walk.left.u8(0);
  const std::uint32_t identification = walk.left.u32(4);
  const bool has_more = (field & 1) != 0;
  const std::size_t at = field & 0xfff8;
  // An atomic fragment is a whole datagram (RFC 6946).
  if (at == 0 && !has_more) return strip_extension(walk, 8);
  const Step step = walk.strip(8, ip_protocol(number));
  if (step != Step::next) return step;
  walk.piece = {identification, number, at, !has_more};
  return Step::fragment;
}

/// RFC 4302 2.2: its length is in words, less two.
Step strip_authentication(Walk& walk) {
  walk.inside("IPsec AH");
  return strip_extension(walk, (walk.left.u8(1) + std::size_t{2}) * 4);
}

Step strip_ip_in_ip(Walk& walk) {
  walk.inside("IP in IP");
  return walk.strip(0, kRawIp);
}
Step strip_ipv6_in_ip(Walk& walk) {
  walk.inside("IPv6 in IP");
  return walk.strip(0, kRawIp);
}
Step strip_ethernet_in_ip(Walk& walk) {
  walk.inside("Ethernet in IP");
  return walk.strip(0, kEthernet);
}
/// RFC 3378.
Step strip_ether_ip(Walk& walk) {
  walk.inside("EtherIP");
  return walk.strip(2, kEthernet);
}
/// RFC 3931 4.1.1: a session, then a cookie of 0, 4 or 8 octets and perhaps a sublayer of 4. Nothing says which.
Step strip_l2tp_session(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t session = walk.left.u32(0);
  if (session == 0) {
    walk.name = "L2TP control";
    return Step::named;
  }
  walk.inside(fmt::format("L2TPv3 {}", session));
  for (const std::size_t at : {4u, 8u, 12u, 16u})
    if (looks_like_ethernet(walk.left, at)) return walk.strip(at, kEthernet);
  return Step::named;
}

/// iWARP: MPA's start (RFC 5044 7.1), or one of its units, whose length fits the segment, with DDP and RDMAP in it.
bool is_iwarp(const Octets& payload) {
  if (payload.u32(0) == 0x4d504120 && payload.u32(4) == 0x49442052) return true;  // "MPA ID Req Frame", "... Rep ..."
  const std::size_t unit = payload.u16(0);
  const std::size_t padded = (unit + 2 + 3) / 4 * 4 + 4;
  constexpr std::uint32_t kDdpVersion = 1;
  constexpr std::uint32_t kRdmapVersionMax = 1;
  constexpr std::uint32_t kOperations = 12;  // with those of RFC 7306
  return payload.has(4) && unit >= 14 && padded <= payload.on_wire() && (payload.u8(2) & 0x3f) == kDdpVersion &&
         payload.u8(3) >> 6 <= kRdmapVersionMax && (payload.u8(3) & 0xf) < kOperations;
}

/// By the lower of its ports, which is the service's more often than not.
Step name_tcp(Walk& walk) {
  if (!walk.left.has(13)) return Step::short_of;
  const std::uint32_t port = std::min(walk.left.u16(0), walk.left.u16(2));
  walk.name = fmt::format("TCP port {}", port);
  const std::size_t header_bytes = (walk.left.u8(12) >> 4) * std::size_t{4};
  if (header_bytes >= 20 && walk.left.has(header_bytes)) {
    walk.left.drop(header_bytes);
    if (is_iwarp(walk.left)) walk.name = "iWARP";
  }
  return Step::named;
}

Step strip_udp(Walk& walk) {
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t port = walk.left.u16(2);
  if (port == wire::kRoceUdpPort) return Step::found;
  if (!walk.left.has(8)) return Step::short_of;
  const std::uint32_t source_port = walk.left.u16(0);
  const std::uint32_t bytes = walk.left.u16(4);
  if (bytes >= 8) walk.left.limit(bytes);
  // An answer goes to the asker's port: both may name it.
  const Announced by_destination{Space::udp_port, port};
  const Announced by_source{Space::udp_port, source_port};
  if (find_layer(by_destination) != nullptr) return walk.strip(8, by_destination);
  const LayerRow* source = find_layer(by_source);
  if (source != nullptr && source->strip == nullptr) return walk.strip(8, by_source);
  return walk.strip(8, {Space::udp_port, std::min(port, source_port)});
}

constexpr LayerRow ip_row(std::uint32_t number, std::string_view name, Step (*strip)(Walk&) = nullptr,
                          bool is_tunnel = false) {
  return {{Space::ip_protocol, number}, name, strip, is_tunnel};
}

constexpr LayerRow kIpRows[] = {
    ip_row(0, "IPv6 hop-by-hop options", strip_hop_by_hop),
    ip_row(1, "ICMP"),
    ip_row(2, "IGMP"),
    ip_row(4, "IP in IP", strip_ip_in_ip, kIsTunnel),
    ip_row(6, "TCP", name_tcp),
    ip_row(17, "UDP", strip_udp),
    ip_row(41, "IPv6 in IP", strip_ipv6_in_ip, kIsTunnel),
    ip_row(43, "IPv6 routing header", strip_routing),
    ip_row(44, "IPv6 fragment", strip_fragment),
    ip_row(46, "RSVP"),
    ip_row(47, "GRE", strip_gre, kIsTunnel),
    ip_row(50, "IPsec ESP"),
    ip_row(51, "IPsec AH", strip_authentication),
    ip_row(58, "ICMPv6"),
    ip_row(59, "IPv6 without payload"),
    ip_row(60, "IPv6 destination options", strip_options),
    ip_row(88, "EIGRP"),
    ip_row(89, "OSPF"),
    ip_row(97, "EtherIP", strip_ether_ip, kIsTunnel),
    ip_row(103, "PIM"),
    ip_row(112, "VRRP"),
    ip_row(115, "L2TPv3", strip_l2tp_session, kIsTunnel),
    ip_row(132, "SCTP"),
    ip_row(135, "IPv6 mobility header", strip_other_extension),
    ip_row(136, "UDP-Lite"),
    ip_row(137, "MPLS", begin_mpls),
    ip_row(139, "HIP", strip_other_extension),
    ip_row(140, "Shim6", strip_other_extension),
    ip_row(143, "Ethernet in IP", strip_ethernet_in_ip, kIsTunnel),
};

}  // namespace

std::span<const LayerRow> ip_layers() {
  return kIpRows;
}

Step strip_ip(Walk& walk) {
  if (!walk.left.has(1)) return Step::short_of;
  const std::uint32_t version = walk.left.u8(0) >> 4;
  if (version == 4) return strip_ipv4(walk);
  return version == 6 ? strip_ipv6(walk) : Step::broken;
}

/// RFC 2784 and 2890; RFC 1701 for routing; version 1 is PPTP's (RFC 2637 4.1).
Step strip_gre(Walk& walk) {
  constexpr std::uint32_t kHasChecksum = 0x8000;
  constexpr std::uint32_t kHasRouting = 0x4000;
  constexpr std::uint32_t kHasKey = 0x2000;
  constexpr std::uint32_t kHasSequence = 0x1000;
  constexpr std::uint32_t kHasAcknowledgement = 0x0080;
  if (!walk.left.has(4)) return Step::short_of;
  const std::uint32_t flags = walk.left.u16(0);
  const std::uint32_t type = walk.left.u16(2);
  const std::uint32_t version = flags & 7;
  walk.has_sequence = (flags & kHasSequence) != 0;
  walk.left.drop(4);
  std::size_t bytes = 0;
  if (version == 0 && (flags & (kHasChecksum | kHasRouting)) != 0) bytes += 4;
  const std::size_t key_at = bytes;
  if ((flags & kHasKey) != 0) bytes += 4;
  if (walk.has_sequence) bytes += 4;
  if (version == 1 && (flags & kHasAcknowledgement) != 0) bytes += 4;
  if (version > 1) return Step::broken;
  const bool is_erspan = type == 0x88be || type == 0x22eb;  // it says itself
  if (!is_erspan)
    walk.inside((flags & kHasKey) == 0 ? std::string("GRE") : fmt::format("GRE {}", walk.left.u32(key_at)));
  if (!walk.left.has(bytes)) return Step::short_of;
  walk.left.drop(bytes);
  if (version == 0 && (flags & kHasRouting) != 0) {
    bool is_last = false;
    while (!is_last) {  // each entry takes four octets at least
      if (!walk.left.has(4)) return Step::short_of;
      is_last = walk.left.u16(0) == 0 && walk.left.u8(3) == 0;
      const std::size_t entry = std::size_t{4} + walk.left.u8(3);
      if (!walk.left.has(entry)) return Step::short_of;
      walk.left.drop(entry);
    }
  }
  walk.next = ether_type(type);
  return Step::next;
}

}  // namespace verbena::captures
