// The headers of a RoCE v2 packet as plain values in host order, each with its one layout.
//
// Solely responsible for where each field lies. Parse, emit and size derive from the layouts (layout.h). Opcode meaning
// is in opcode.h, the whole packet in packet_view.h and packet_builder.h. Sources: IBTA vol 1 release 1.4 chapter 9 and
// annex A17 (RoCE v2); RFC 791, RFC 8200, RFC 768; IEEE 802.1Q.
// Tested by: tests/wire/packet_test.cc
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

/// The low bits of the traffic class (RFC 3168, section 5).
inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEcnCapable = 2;  // ECT(0): a switch may mark the packet
inline constexpr std::uint8_t kEcnCongestionExperienced = 3;

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

inline constexpr std::uint16_t kPkeyMask = 0x7fff;  // the top bit is membership (10.9.3)
inline constexpr std::uint16_t kPkeyDefault = 0xffff;
/// Which P_Keys match one's own (10.9.3): those of the same partition, if one of both is a full member of it. 0 and
/// 0x8000 are no keys, and match none.
struct PkeyFilter {
  /// Of the default one.
  constexpr PkeyFilter() = default;
  constexpr explicit PkeyFilter(std::uint16_t own) {
    const bool is_key = (own & kPkeyMask) != 0;
    const bool is_full = (own & ~kPkeyMask) != 0;
    mask = !is_key ? std::uint16_t{0} : is_full ? kPkeyMask : std::uint16_t{0xffff};
    value = !is_key ? std::uint16_t{1} : static_cast<std::uint16_t>(is_full ? own & kPkeyMask : own | ~kPkeyMask);
  }
  constexpr bool takes(std::uint16_t pkey) const { return (pkey & mask) == value; }

  std::uint16_t mask = kPkeyMask;
  std::uint16_t value = kPkeyMask;
};

/// Base transport header (9.2).
struct Bth {
  Opcode opcode{};
  bool solicited = false;
  bool migrated = false;
  std::uint8_t pad_bytes = 0;
  std::uint8_t version = 0;
  std::uint16_t pkey = kPkeyDefault;
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

// -- The layouts ---------------------------------------------------------------------------------------------------

using EthernetLayout =
    Layout<Field<&Ethernet::destination, 48>, Field<&Ethernet::source, 48>, Field<&Ethernet::ether_type, 16>>;
static_assert(EthernetLayout::bytes == 14);

/// Begins behind the 0x8100 of the tag, which parses as Ethernet::ether_type.
using VlanLayout = Layout<Field<&Vlan::priority, 3>, Field<&Vlan::drop_eligible, 1>, Field<&Vlan::vlan_id, 12>,
                          Field<&Vlan::ether_type, 16>>;
static_assert(VlanLayout::bytes == 4);

using Ipv4Layout =
    Layout<Field<&Ipv4::version, 4>, Field<&Ipv4::header_words, 4>, Field<&Ipv4::dscp, 6>, Field<&Ipv4::ecn, 2>,
           Field<&Ipv4::total_bytes, 16>, Field<&Ipv4::identification, 16>, Field<&Ipv4::reserved_flag, 1>,
           Field<&Ipv4::dont_fragment, 1>, Field<&Ipv4::more_fragments, 1>, Field<&Ipv4::fragment_offset, 13>,
           Field<&Ipv4::time_to_live, 8>, Field<&Ipv4::protocol, 8>, Field<&Ipv4::checksum, 16>,
           Field<&Ipv4::source, 32>, Field<&Ipv4::destination, 32>>;
static_assert(Ipv4Layout::bytes == 20);

using Ipv6Layout = Layout<Field<&Ipv6::version, 4>, Field<&Ipv6::traffic_class, 8>, Field<&Ipv6::flow_label, 20>,
                          Field<&Ipv6::payload_bytes, 16>, Field<&Ipv6::next_header, 8>, Field<&Ipv6::hop_limit, 8>,
                          Field<&Ipv6::source, 128>, Field<&Ipv6::destination, 128>>;
static_assert(Ipv6Layout::bytes == 40);

using UdpLayout = Layout<Field<&Udp::source_port, 16>, Field<&Udp::destination_port, 16>, Field<&Udp::bytes, 16>,
                         Field<&Udp::checksum, 16>>;
static_assert(UdpLayout::bytes == 8);

using BthLayout =
    Layout<Field<&Bth::opcode, 8>, Field<&Bth::solicited, 1>, Field<&Bth::migrated, 1>, Field<&Bth::pad_bytes, 2>,
           Field<&Bth::version, 4>, Field<&Bth::pkey, 16>, Field<&Bth::fecn, 1>, Field<&Bth::becn, 1>,
           Field<&Bth::reserved6, 6>, Field<&Bth::dest_qp, 24>, Field<&Bth::ack_request, 1>, Field<&Bth::reserved7, 7>,
           Field<&Bth::psn, 24>>;
static_assert(BthLayout::bytes == 12);

using RethLayout = Layout<Field<&Reth::address, 64>, Field<&Reth::rkey, 32>, Field<&Reth::length, 32>>;
static_assert(RethLayout::bytes == 16);

using AethLayout = Layout<Field<&Aeth::syndrome, 8>, Field<&Aeth::msn, 24>>;
static_assert(AethLayout::bytes == 4);

using AtomicEthLayout = Layout<Field<&AtomicEth::address, 64>, Field<&AtomicEth::rkey, 32>,
                               Field<&AtomicEth::swap_or_add, 64>, Field<&AtomicEth::compare, 64>>;
static_assert(AtomicEthLayout::bytes == 28);

using AtomicAckEthLayout = Layout<Field<&AtomicAckEth::original, 64>>;
static_assert(AtomicAckEthLayout::bytes == 8);

using DethLayout = Layout<Field<&Deth::qkey, 32>, Field<&Deth::reserved, 8>, Field<&Deth::source_qp, 24>>;
static_assert(DethLayout::bytes == 8);

using ImmDtLayout = Layout<Field<&ImmDt::data, 32>>;
static_assert(ImmDtLayout::bytes == 4);

using IethLayout = Layout<Field<&Ieth::rkey, 32>>;
static_assert(IethLayout::bytes == 4);

using XrcethLayout = Layout<Field<&Xrceth::reserved, 8>, Field<&Xrceth::xrc_srq, 24>>;
static_assert(XrcethLayout::bytes == 4);

}  // namespace verbena::wire
