// DCQCN: the parameters of this policy of congestion control, and its maker.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/share.h"
#include "wire/time.h"

namespace verbena::nic {

/// Names and values of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015; the increases
/// and the least rate, which the paper does not say, are those of its authors' simulator
/// (github.com/bobzhuyb/ns3-rdma: mix/config.txt, and MinRate of qbb-net-device.cc). ConnectX calls the parameters by
/// the names in brackets.
struct DcqcnParameters {
  Share g = kWhole / 256;                                        // [1 - dce_tcp_g / 1024] weight of the newest sample
  Duration alpha_timer = microseconds(55);                       // [dce_tcp_rtt] alpha decays once in it without a CNP
  Duration timer = microseconds(55);                             // [rpg_time_reset] rate increase
  std::uint64_t byte_counter = 10'000'000;                       // [rpg_byte_reset] rate increase, octets
  std::uint32_t fast_recovery = 5;                               // [rpg_threshold] F
  std::uint64_t additive_increase_bits_per_second = 40'000'000;  // [rpg_ai_rate] R_AI
  std::uint64_t hyper_increase_bits_per_second = 200'000'000;    // [rpg_hai_rate] R_HAI
  std::uint64_t min_rate_bits_per_second = 100'000'000;          // [rpg_min_rate]
  Duration decrease_interval{};  // [rate_reduce_monitor_period] least time between two cuts
  /// [clamp_tgt_rate] Each cut makes the rate before it the target; else only one after an increase does.
  bool clamp_target_rate = true;

  bool operator==(const DcqcnParameters&) const = default;
};

std::unique_ptr<CongestionControl> make_dcqcn(const DcqcnParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second);

}  // namespace verbena::nic
