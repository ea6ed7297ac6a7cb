// TIMELY: the parameters of this policy of congestion control, and its maker.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/share.h"
#include "wire/time.h"

namespace verbena::nic {

/// Names of Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1; values
/// as in the TIMELY sender of github.com/bobzhuyb/ns3-rdma. The paper paces segments of up to 64 KB, this NIC packets.
struct TimelyParameters {
  Share alpha = kWhole / 8 * 7;  // weight of the newest RTT difference
  Share beta = kWhole / 5 * 4;   // multiplicative decrease
  Duration t_low = microseconds(50);
  Duration t_high = microseconds(500);
  Duration min_rtt = microseconds(20);                           // what RTT differences are measured by
  std::uint64_t additive_increase_bits_per_second = 10'000'000;  // delta
  std::uint32_t hyper_increase = 5;                              // N: increments, after as many falls of the RTT
  std::uint64_t min_rate_bits_per_second = 100'000'000;

  bool operator==(const TimelyParameters&) const = default;
};

std::unique_ptr<CongestionControl> make_timely(const TimelyParameters& parameters,
                                               std::uint64_t line_rate_bits_per_second);

}  // namespace verbena::nic
