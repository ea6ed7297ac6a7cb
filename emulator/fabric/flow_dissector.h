// FlowDissector: the few fields of a frame that a network needs, read once when the frame enters it.
//
// Unlike wire::parse_frame it checks nothing but lengths: whatever comes in is carried, as switches do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/headers.h"
#include "wire/types.h"

namespace verbena::fabric {

struct FlowDissector {
  bool is_ip = false;
  bool ecn_capable = false;      // ECT(0) or ECT(1)
  std::uint32_t flow_hash = 0;   // of both addresses and the UDP source port
  std::uint32_t digest = 0;      // of all headers from IP on
  std::size_t header_bytes = 0;  // all of them; of what is no IP, all that is stored
  wire::Gid destination;
};

/// `stored`: what is there of a frame that is `bytes` long; all of it, or at least its headers. The digest only if
/// asked for.
FlowDissector look_at(std::span<const std::byte> stored, std::size_t bytes, bool with_digest);

/// What look_at() reads of an untagged IPv4 frame except its opcode: two frames with the same key look the same.
class FlowKey {
 public:
  /// Of no frame.
  FlowKey() = default;
  explicit FlowKey(std::span<const std::byte> frame) {
    if (frame.size() < kBytesMin) return;
    std::memcpy(&kind_, frame.data() + kTypeOffset, sizeof kind_);
    std::memcpy(&addresses_, frame.data() + kAddressesOffset, sizeof addresses_);
    std::memcpy(&port_, frame.data() + kPortOffset, sizeof port_);
    if ((kind_ & 0xffff) != kIpv4) kind_ = 0;
  }
  bool is_known() const { return kind_ != 0; }
  bool operator==(const FlowKey&) const = default;

 private:
  static constexpr std::size_t kTypeOffset = 12;
  static constexpr std::size_t kAddressesOffset = wire::EthernetLayout::bytes + 12;
  static constexpr std::size_t kPortOffset = wire::EthernetLayout::bytes + wire::Ipv4Layout::bytes;
  static constexpr std::size_t kBytesMin = kPortOffset + wire::UdpLayout::bytes;
  static constexpr std::uint32_t kIpv4 = 0x0008;  // in the order of octets
  static_assert(std::endian::native == std::endian::little);

  std::uint64_t addresses_ = 0;
  std::uint32_t kind_ = 0;  // EtherType, version, TOS
  std::uint16_t port_ = 0;
};

/// look_at_destination_qpn() for what is no untagged IPv4 frame.
std::optional<wire::Qpn> look_at_uncommon_destination_qpn(std::span<const std::byte> frame);
/// The QP that a frame is for, whatever else is wrong with it. Nothing: it has no place for one.
inline std::optional<wire::Qpn> look_at_destination_qpn(std::span<const std::byte> frame) {
  constexpr std::size_t kBth = wire::EthernetLayout::bytes + wire::Ipv4Layout::bytes + wire::UdpLayout::bytes;
  constexpr std::size_t kOffset = 4;  // in the BTH: an octet that is reserved, then three
  if (!FlowKey(frame).is_known() || frame.size() < kBth + wire::BthLayout::bytes)
    return look_at_uncommon_destination_qpn(frame);
  std::uint32_t octets;
  std::memcpy(&octets, frame.data() + kBth + kOffset, sizeof octets);
  return wire::Qpn{__builtin_bswap32(octets) & 0xffffff};
}

/// What says a frame's traffic class.
struct FrameMarking {
  std::uint8_t dscp = 0;  // 0 as well: it is no IP packet
  std::uint8_t pcp = 0;   // 0 as well: it has no VLAN tag
};
FrameMarking look_at_marking(std::span<const std::byte> frame);

/// Nothing: it is no IP packet.
std::optional<wire::Gid> look_at_source(std::span<const std::byte> frame);

}  // namespace verbena::fabric
