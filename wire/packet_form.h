// PacketForm: what the parser has found out about a packet, without the packet's octets. With them it is a view again.
//
// For callers that keep many packets and parse each of them once: a form takes 32 octets, a view seven times as many.
// It owns nothing, and making a view checks nothing: the headers are copied from where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/packet_view.h"

namespace verbena::wire {

class PacketForm {
 public:
  /// `bytes`: those that were parsed; view.frame() lies in them. The view's encapsulation is one of encapsulations().
  PacketForm(const PacketView& view, std::span<const std::byte> bytes);

  /// `bytes`: the same, or a copy of them. Should they have changed since, the view has what is there now in the fields
  /// that were there then: the opcode, and with it which headers there are, is the one that was parsed.
  PacketView view_of(std::span<const std::byte> bytes) const;

 private:
  const OpcodeInfo* info_;
  std::uint32_t frame_bytes_;
  std::uint32_t icrc_;
  std::uint16_t frame_at_;    // in the octets
  std::uint16_t payload_at_;  // in the frame
  std::uint16_t payload_left_;
  std::uint16_t payload_bytes_;
  std::uint8_t opcode_;
  std::uint8_t ip_at_;
  std::uint8_t bth_at_;
  std::uint8_t ip_offset_;
  std::uint8_t recovery_bytes_;
  std::uint8_t telemetry_bytes_;
  std::uint8_t encapsulation_;  // its place among encapsulations()
  bool is_ipv4_ : 1;
  bool is_whole_ : 1;
  bool has_trailer_ : 1;
};
static_assert(sizeof(PacketForm) == 32);

}  // namespace verbena::wire
