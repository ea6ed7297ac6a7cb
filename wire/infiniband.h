// InfiniBand's link layer: the local route header, the variant CRC, and link packets (IBTA vol 1, 7.7 to 7.9).
//
// Solely responsible for their octets. infiniband.cc has the encapsulation as well; what a port does with credits and
// lanes is not here.
// Tested by: tests/wire/infiniband_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/frame_places.h"
#include "wire/layout.h"
#include "wire/lid.h"
#include "wire/notice.h"

namespace verbena::wire {

class PacketView;

/// What follows the local route header (7.7.5).
enum class LinkNextHeader : std::uint8_t {
  raw_ether_type = 0,  // a raw header with an EtherType
  raw_ipv6 = 1,
  iba_local = 2,   // a BTH
  iba_global = 3,  // a GRH
};

/// 7.7
struct LocalRouteHeader {
  std::uint8_t virtual_lane = 0;
  std::uint8_t link_version = 0;
  std::uint8_t service_level = 0;
  std::uint8_t reserved1 = 0;
  LinkNextHeader next_header = LinkNextHeader::iba_local;
  Lid destination;
  std::uint8_t reserved4 = 0;
  std::uint16_t words = 0;  // of 4 octets, from this header to the ICRC
  Lid source;
  constexpr bool operator==(const LocalRouteHeader&) const = default;
};

using LocalRouteHeaderLayout =
    Layout<Field<&LocalRouteHeader::virtual_lane, 4>, Field<&LocalRouteHeader::link_version, 4>,
           Field<&LocalRouteHeader::service_level, 4>, Field<&LocalRouteHeader::reserved1, 2>,
           Field<&LocalRouteHeader::next_header, 2>, Field<&LocalRouteHeader::destination, 16>,
           Field<&LocalRouteHeader::reserved4, 5>, Field<&LocalRouteHeader::words, 11>,
           Field<&LocalRouteHeader::source, 16>>;
static_assert(LocalRouteHeaderLayout::bytes == 8);

inline constexpr std::uint8_t kManagementLane = 15;  // VL 15: subnet management alone, without credits
inline constexpr std::size_t kVcrcBytes = 2;

/// What a trap says of a packet whose key is wrong (14.2.5.1): its P_Key, or of a datagram its Q_Key.
BadKeyDetails bad_key_details(const PacketView& packet, bool is_qkey);

/// Where a packet has its fields.
FramePlaces infiniband_places(LinkNextHeader next_header);

/// The CRC-16 of 7.8.2 (0x100B, from ones, complemented; least significant bits first, as the ICRC), stored least
/// significant octet first: of a data packet from the LRH to the ICRC, of a link packet its first four octets.
std::uint16_t variant_crc(std::span<const std::byte> octets);

/// What a link packet is for (7.9.4); others are reserved.
enum class FlowControlOp : std::uint8_t { normal = 0, init = 1 };
/// Credits are counted in blocks of so many octets.
inline constexpr std::size_t kCreditBlockBytes = 64;

/// 7.9.4
struct FlowControlPacket {
  FlowControlOp op = FlowControlOp::normal;
  std::uint16_t total_blocks_sent = 0;  // FCTBS
  std::uint8_t virtual_lane = 0;
  std::uint16_t credit_limit = 0;  // FCCL
  constexpr bool operator==(const FlowControlPacket&) const = default;
};

using FlowControlPacketLayout =
    Layout<Field<&FlowControlPacket::op, 4>, Field<&FlowControlPacket::total_blocks_sent, 12>,
           Field<&FlowControlPacket::virtual_lane, 4>, Field<&FlowControlPacket::credit_limit, 12>>;
static_assert(FlowControlPacketLayout::bytes == 4);

/// With its CRC (LPCRC).
inline constexpr std::size_t kLinkPacketBytes = FlowControlPacketLayout::bytes + kVcrcBytes;

std::array<std::byte, kLinkPacketBytes> write_link_packet(const FlowControlPacket& packet);

struct ReadLinkPacket {
  FlowControlPacket packet;
  bool is_right = false;  // its CRC
};
/// Nothing: it is cut off, or longer than a link packet.
std::optional<ReadLinkPacket> read_link_packet(std::span<const std::byte> octets);

}  // namespace verbena::wire
