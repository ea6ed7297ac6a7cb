// FlowDissector: the few fields of a frame that a network needs, read once when the frame enters it.
//
// Unlike wire::parse_frame it checks nothing but lengths: whatever comes in is carried, as switches do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/flow_key.h"
#include "wire/path_address.h"
#include "wire/types.h"

namespace verbena::fabric {

using wire::FlowKey;

struct FlowDissector {
  bool is_known = false;         // its encapsulation
  bool ecn_capable = false;      // ECT(0) or ECT(1)
  std::uint32_t flow_hash = 0;   // of both addresses and the entropy; of RoCE v1, Ethernet's addresses
  std::uint32_t digest = 0;      // of all headers from the network header on
  std::size_t header_bytes = 0;  // all of them; of what is not known, all that is stored
  wire::Gid destination;
};

/// `stored`: what is there of a frame that is `bytes` long; all of it, or at least its headers. The digest only if
/// asked for.
FlowDissector look_at(std::span<const std::byte> stored, std::size_t bytes, bool with_digest,
                      wire::Medium medium = wire::Medium::ethernet);

/// What says a frame's traffic class.
struct FrameMarking {
  std::uint8_t dscp = 0;  // 0 as well: switches read none of it
  std::uint8_t pcp = 0;   // 0 as well: it has no VLAN tag
};
FrameMarking look_at_marking(std::span<const std::byte> frame);

/// On InfiniBand what stands for its LID. Nothing: its encapsulation is not known.
std::optional<wire::Gid> look_at_source(std::span<const std::byte> frame, wire::Medium medium = wire::Medium::ethernet);

}  // namespace verbena::fabric
