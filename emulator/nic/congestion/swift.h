// Swift: the parameters of this policy of congestion control, and its maker.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/share.h"
#include "wire/time.h"

namespace verbena::nic {

/// Names of Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
/// 2020, algorithm 1 and section 3.5. The paper says few of the values; these are those of csg-htsim
/// (github.com/Broadcom/csg-htsim: sim/swift.cpp), whose authors call them guesses. Windows are of packets.
struct SwiftParameters {
  Duration base_target = microseconds(20);
  Duration hop_scale = nanoseconds(3053);  // the target grows by it for each switch on the way
  std::uint32_t hops = 1;                  // switches on the way; the paper has them of the TTL
  Duration fs_range = microseconds(100);   // flow scaling: what the target grows by as the window shrinks
  Share fs_min_window = kWhole / 10;       // where all of fs_range is added
  std::uint32_t fs_max_window = 100;       // where none of it is
  std::uint32_t additive_increase = 1;     // ai: packets in a round trip
  Share beta = kWhole / 5 * 4;             // multiplicative decrease
  Share max_mdf = kWhole / 2;              // the most that one decrease takes
  Share min_window = kWhole / 100;
  std::uint32_t retransmit_reset = 5;  // timeouts in a row that lead to min_window

  bool operator==(const SwiftParameters&) const = default;
};

std::unique_ptr<CongestionControl> make_swift(const SwiftParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second);

}  // namespace verbena::nic
