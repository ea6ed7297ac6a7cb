// HPCC: the parameters of this policy of congestion control, and its maker.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/share.h"
#include "wire/time.h"

namespace verbena::nic {

/// Names and values of Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 5.1.
struct HpccParameters {
  Duration base_rtt = microseconds(13);  // T: the round trip without queues, of the longest way
  Share eta = kWhole / 100 * 95;         // target utilization
  std::uint32_t max_stage = 5;           // additive increases in a row before a multiplicative one
  std::uint64_t additive_increase = 80;  // W_AI, octets

  bool operator==(const HpccParameters&) const = default;
};

std::unique_ptr<CongestionControl> make_hpcc(const HpccParameters& parameters, std::uint64_t line_rate_bits_per_second);

}  // namespace verbena::nic
