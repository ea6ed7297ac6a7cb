// Altering a frame on its way: what a verdict or a full queue does to the octets.
//
// Solely responsible for flipping a bit, repairing the ICRC, cutting the end off and marking ECN, in place. It decides
// nothing (FaultPlan does) and holds no frames.
// Tested by: tests/fabric/fault_rounds_test.cc
#pragma once

#include <cstddef>
#include <span>

#include "emulator/fabric/fault_plan.h"
#include "wire/path_address.h"

namespace verbena::fabric {

struct AlteredFrame {
  std::size_t bytes = 0;   // octets that are left, from the frame's first
  bool corrupted = false;  // a bit was flipped or the end cut off
};

/// Carries out flip_bit, repair_icrc, truncate_to and mark of `verdict`, which was judged on this very frame.
AlteredFrame alter_frame(std::span<std::byte> frame, const FaultVerdict& verdict,
                         wire::Medium medium = wire::Medium::ethernet);

/// Sets ECN congestion experienced (RFC 3168) in an IPv4 or IPv6 header behind Ethernet, with at most one VLAN tag, and
/// mends the IPv4 checksum; the ICRC does not cover it. Other frames are left alone. Returns whether it was done.
bool mark_congestion(std::span<std::byte> frame);
/// Whether the frame's sender allows a switch to mark it (ECT(0), ECT(1) or marked already).
bool is_ecn_capable(std::span<const std::byte> frame);

}  // namespace verbena::fabric
