// FlowKey: what is the same in all frames of a flow, taken in a few loads from the commonest form of a frame.
//
// Solely responsible for that form, untagged RoCE v2 over IPv4. For all others it is not known: find_places() and what
// it tells (frame_places.h) take its place.
// Tested by: tests/fabric/flow_dissector_test.cc
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/headers.h"
#include "wire/path_address.h"

namespace verbena::wire {

/// Two frames with the same key have the same addresses, traffic class and UDP source port.
class FlowKey {
 public:
  /// Of no frame.
  FlowKey() = default;
  explicit FlowKey(std::span<const std::byte> frame) {
    if (frame.size() < kBthAt) return;
    std::memcpy(&kind_, frame.data() + kTypeOffset, sizeof kind_);
    std::memcpy(&addresses_, frame.data() + kAddressesOffset, sizeof addresses_);
    std::memcpy(&port_, frame.data() + kPortOffset, sizeof port_);
    if ((kind_ & 0xffff) != kIpv4) kind_ = 0;
  }
  bool is_known() const { return kind_ != 0; }
  bool operator==(const FlowKey&) const = default;

  /// Where a frame that has a key has its BTH.
  static constexpr std::size_t kBthAt = EthernetLayout::bytes + Ipv4Layout::bytes + UdpLayout::bytes;

 private:
  static constexpr std::size_t kTypeOffset = 12;
  static constexpr std::size_t kAddressesOffset = EthernetLayout::bytes + 12;
  static constexpr std::size_t kPortOffset = EthernetLayout::bytes + Ipv4Layout::bytes;
  static constexpr std::uint32_t kIpv4 = 0x0008;  // in the order of octets
  static_assert(std::endian::native == std::endian::little);

  std::uint64_t addresses_ = 0;
  std::uint32_t kind_ = 0;  // EtherType, version, TOS
  std::uint16_t port_ = 0;
};

/// destination_qpn() for frames without a key.
std::optional<Qpn> find_destination_qpn(std::span<const std::byte> frame, Medium medium = Medium::ethernet);
/// The QP that a frame is for, whatever else is wrong with it. Nothing: it has no place for one.
inline std::optional<Qpn> destination_qpn(std::span<const std::byte> frame) {
  constexpr std::size_t kOffset = 4;  // in the BTH: an octet that is reserved, then three
  if (!FlowKey(frame).is_known() || frame.size() < FlowKey::kBthAt + BthLayout::bytes)
    return find_destination_qpn(frame);
  std::uint32_t octets;
  std::memcpy(&octets, frame.data() + FlowKey::kBthAt + kOffset, sizeof octets);
  return Qpn{__builtin_bswap32(octets) & Qpn::kMask};
}

}  // namespace verbena::wire
