// FrameLook: the few fields of a frame that a network needs, read once when the frame enters it.
//
// Unlike wire::parse_frame it checks nothing but lengths: whatever comes in is carried, as switches do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/types.h"

namespace verbena::fabric {

struct FrameLook {
  bool is_ip = false;
  bool ecn_capable = false;      // ECT(0) or ECT(1)
  std::uint32_t flow_hash = 0;   // of both addresses and the UDP source port
  std::uint32_t digest = 0;      // of all headers from IP on
  std::size_t header_bytes = 0;  // all of them; of what is no IP, all that is stored
  wire::Gid destination;
};

/// `stored`: what is there of a frame that is `bytes` long; all of it, or at least its headers. The digest only if
/// asked for.
FrameLook look_at(std::span<const std::byte> stored, std::size_t bytes, bool with_digest);

/// The QP that a frame is for, whatever else is wrong with it. Nothing: it has no place for one.
std::optional<wire::Qpn> look_at_destination_qpn(std::span<const std::byte> frame);

}  // namespace verbena::fabric
