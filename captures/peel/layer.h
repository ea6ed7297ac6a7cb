// Layers: what may stand around a RoCE packet in a capture, as rows of tables, and the walk from the outside in.
//
// A row says what the layer is called, by which number the layer outside of it announces it, and how it is stripped.
// Solely that; peeler.h walks, capture.h keeps what was found. The tables: link_layers.cc (link types),
// infiniband_layers.cc (what follows an LRH),
// ether_type_layers.cc (tags and whatever else an EtherType announces), ip_layers.cc (IP and what is announced by its
// protocol number), udp_layers.cc.
// Tested by: tests/captures/peel/peeler_test.cc
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "captures/peel/octets.h"
#include "wire/pcap_file.h"

namespace verbena::captures {

/// Who hands out the number that announces a layer.
enum class Space : std::uint8_t { link_type, ether_type, ip_protocol, udp_port, ppp, sap };

/// How the next layer is announced.
struct Announced {
  Space space = Space::link_type;
  std::uint32_t number = 0;
  bool operator==(const Announced&) const = default;
};

inline constexpr std::size_t kEthernetBytes = wire::EthernetLayout::bytes;
inline constexpr std::size_t kIpv4Bytes = wire::Ipv4Layout::bytes;
inline constexpr std::size_t kIpv6Bytes = wire::Ipv6Layout::bytes;
inline constexpr std::uint32_t kEtherTypeMin = 0x600;  // below: a length (IEEE 802.3 3.2.6)

inline constexpr Announced kEthernet{Space::link_type, static_cast<std::uint32_t>(wire::LinkType::ethernet)};
inline constexpr Announced kRawIp{Space::link_type, static_cast<std::uint32_t>(wire::LinkType::raw_ip)};
inline constexpr Announced kInfiniBand{Space::link_type, static_cast<std::uint32_t>(wire::LinkType::infiniband)};
inline constexpr Announced kPpp{Space::link_type, 9};
inline constexpr Announced kLlc{Space::sap, 0};
constexpr Announced ether_type(std::uint32_t number) {
  return {Space::ether_type, number};
}

/// What became of a layer.
enum class Step : std::uint8_t {
  next,      // stripped: Walk::next announces what follows
  found,     // a RoCE packet: UDP to port 4791, or a GRH (Walk::is_roce_v1)
  named,     // it ends here: nothing within is read
  short_of,  // it is not all there: Octets::is_cut says whether the capture has cut it
  broken,    // it is not as its specification says
  fragment,  // a piece of an IP datagram: Walk::piece
  carried,   // a packet of InfiniBand: Walk::left begins with its LRH
};

/// The IP header that stands last on the way in.
struct IpHeader {
  Octets packet;  // from it on, as long as it says
  Octets frame;   // the same with the Ethernet header in front of it, where there is one
  bool is_v4 = true;
  bool is_plain = true;                        // no options, no extension headers: as RoCE v2 has it
  bool has_ethernet = false;                   // directly in front
  std::size_t transport_at = 0;                // in `packet`, behind options and extension headers
  std::optional<wire::Gid> final_destination;  // of a routing header: where it goes in the end
};

/// A piece of a datagram: Walk::left is its octets, Walk::ip its header.
struct Piece {
  std::uint32_t identification = 0;
  std::uint32_t protocol = 0;
  std::size_t at = 0;  // in the datagram
  bool is_last = false;
};

/// Where the peeler is, from the outside in. What stands outside is `layers`.
struct Walk {
  Octets left;
  Announced next;
  Announced before;              // what announced the layer that is being stripped
  Octets ethernet;               // from the Ethernet header that was stripped last
  bool behind_ethernet = false;  // it was the layer just before
  bool has_sequence = false;     // of GRE, by which ERSPAN's types differ
  IpHeader ip;
  bool has_ip = false;
  bool is_roce_v1 = false;  // what was found begins with a GRH: `left`
  Piece piece;
  std::size_t opcode_at = 0;        // of a packet of InfiniBand: its BTH
  std::vector<std::string> layers;  // "VLAN 100", "VXLAN 42"
  std::string_view tunnel;          // the innermost of those that carry packets of somebody else, without its number
  std::string name;                 // where the row's own does not say it

  /// Strips so many octets; `next` follows.
  Step strip(std::size_t bytes, Announced announced) {
    if (!left.has(bytes)) return Step::short_of;
    left.drop(bytes);
    next = announced;
    return Step::next;
  }
  void inside(std::string layer) { layers.push_back(std::move(layer)); }
};

inline constexpr bool kIsTunnel = true;

struct LayerRow {
  Announced announced;
  std::string_view name;
  /// None: named, and not read.
  Step (*strip)(Walk& walk) = nullptr;
  /// It carries packets that another network has made: what is within is named with it.
  bool is_tunnel = false;
};
std::span<const LayerRow> link_layers();
std::span<const LayerRow> ether_type_layers();
std::span<const LayerRow> ip_layers();
std::span<const LayerRow> udp_layers();

/// Nothing: no row is announced so.
const LayerRow* find_layer(Announced announced);
/// "EtherType 0x1234", "UDP port 53", ...
std::string name_of(Announced announced);

/// Whether an Ethernet header with a type that is known lies so far behind the start, for layers that do not say what
/// they carry.
bool looks_like_ethernet(const Octets& octets, std::size_t at);
/// The same for an IP header of either version: what it says of lengths must fit.
bool looks_like_ip(const Octets& octets, std::size_t at);

/// What begins at once with a layer that has a row of its own.
inline Step begin_ethernet(Walk& walk) {
  return walk.strip(0, kEthernet);
}
inline Step begin_mpls(Walk& walk) {
  return walk.strip(0, ether_type(0x8847));
}

/// MPLS: labels down to the bottom of the stack, then what the first octets look like (RFC 4928).
Step strip_mpls(Walk& walk);
Step strip_ip(Walk& walk);
/// A packet behind a GRH (roce_v1_layer.cc).
Step find_roce_v1(Walk& walk);
Step strip_gre(Walk& walk);
/// InfiniBand from its LRH on, and a link packet, which has none.
Step strip_infiniband(Walk& walk);
Step strip_infiniband_link(Walk& walk);
/// SNAP: organisation and type (IEEE 802). `bridged_padding`: octets between the type of a bridged frame and the
/// frame.
Step strip_snap(Walk& walk, std::size_t bridged_padding);

}  // namespace verbena::captures
