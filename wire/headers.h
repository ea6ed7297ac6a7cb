// The headers of a RoCE v2 packet as plain values in host order, each with its one layout.
//
// Solely responsible for where each field lies. Parse, emit and size derive from the layouts (layout.h). Opcode meaning is
// in opcode.h, the whole packet in packet_view.h and packet_builder.h.
// Sources: IBTA vol 1 release 1.4 chapter 9 and annex A17 (RoCE v2); RFC 791, RFC 8200, RFC 768; IEEE 802.1Q.
#pragma once

#include <cstdint>

#include "wire/layout.h"
#include "wire/opcode.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint8_t kIpProtocolUdp = 17;

struct Ethernet {
  MacAddress destination;
  MacAddress source;
  std::uint16_t ether_type = 0;
  constexpr bool operator==(const Ethernet&) const = default;
};

struct Vlan {
  std::uint8_t priority = 0;
  bool drop_eligible = false;
  std::uint16_t vlan_id = 0;
  std::uint16_t ether_type = 0;
  constexpr bool operator==(const Vlan&) const = default;
};

struct Ipv4 {
  std::uint8_t version = 4;
  std::uint8_t header_words = 5;
  std::uint8_t dscp = 0;
  std::uint8_t ecn = 0;
  std::uint16_t total_bytes = 0;
  std::uint16_t identification = 0;
  bool reserved_flag = false;
  bool dont_fragment = true;
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;
  std::uint8_t time_to_live = 64;
  std::uint8_t protocol = kIpProtocolUdp;
  std::uint16_t checksum = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  constexpr bool operator==(const Ipv4&) const = default;
};

struct Ipv6 {
  std::uint8_t version = 6;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t payload_bytes = 0;
  std::uint8_t next_header = kIpProtocolUdp;
  std::uint8_t hop_limit = 64;
  Gid source;
  Gid destination;
  constexpr bool operator==(const Ipv6&) const = default;
};

struct Udp {
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kRoceUdpPort;
  std::uint16_t bytes = 0;
  std::uint16_t checksum = 0;
  constexpr bool operator==(const Udp&) const = default;
};

/// Base transport header (9.2).
struct Bth {
  Opcode opcode{};
  bool solicited = false;
  bool migrated = false;
  std::uint8_t pad_bytes = 0;
  std::uint8_t version = 0;
  std::uint16_t pkey = 0xffff;
  bool fecn = false;
  bool becn = false;
  std::uint8_t reserved6 = 0;
  Qpn dest_qp;
  bool ack_request = false;
  std::uint8_t reserved7 = 0;
  Psn psn;
  constexpr bool operator==(const Bth&) const = default;
};

/// RDMA extended transport header (9.3.3).
struct Reth {
  std::uint64_t address = 0;
  Rkey rkey;
  std::uint32_t length = 0;
  constexpr bool operator==(const Reth&) const = default;
};

/// ACK extended transport header (9.3.5): syndrome is decoded by Syndrome in aeth.h.
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  constexpr bool operator==(const Aeth&) const = default;
};

/// Atomic extended transport header (9.3.4).
struct AtomicEth {
  std::uint64_t address = 0;
  Rkey rkey;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  constexpr bool operator==(const AtomicEth&) const = default;
};

struct AtomicAckEth {
  std::uint64_t original = 0;
  constexpr bool operator==(const AtomicAckEth&) const = default;
};

/// Datagram extended transport header (9.3.2).
struct Deth {
  std::uint32_t qkey = 0;
  std::uint8_t reserved = 0;
  Qpn source_qp;
  constexpr bool operator==(const Deth&) const = default;
};

/// Immediate data. Opaque to the transport; kept as the big-endian number.
struct ImmDt {
  std::uint32_t data = 0;
  constexpr bool operator==(const ImmDt&) const = default;
};

struct Ieth {
  Rkey rkey;
  constexpr bool operator==(const Ieth&) const = default;
};

struct Xrceth {
  std::uint8_t reserved = 0;
  Qpn xrc_srq;
  constexpr bool operator==(const Xrceth&) const = default;
};

// The layouts follow here: EthernetLayout, VlanLayout, Ipv4Layout, ... (one Layout<Field<...>...> each).

}  // namespace verbena::wire
