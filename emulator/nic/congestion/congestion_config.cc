// The policies of congestion control that a NIC can have.
#include "emulator/nic/congestion/congestion_config.h"

#include <algorithm>
#include <array>

#include "wire/assert.h"

namespace verbena::nic {
namespace {

/// The maker of a policy, of its parameters in the configuration.
template <auto parameters, auto make>
std::unique_ptr<CongestionControl> make_with(const CongestionConfig& config) {
  return make(config.*parameters, config.line_rate_bits_per_second);
}

constexpr std::array kRows{
    CongestionRow{.policy = CongestionPolicy::none},
    CongestionRow{.policy = CongestionPolicy::dcqcn,
                  .wants = {.marks = true, .notifications = true},
                  .make = make_with<&CongestionConfig::dcqcn, make_dcqcn>},
    CongestionRow{.policy = CongestionPolicy::timely,
                  .wants = {.round_trips = true, .pacing = true},
                  .make = make_with<&CongestionConfig::timely, make_timely>},
    CongestionRow{.policy = CongestionPolicy::swift,
                  .wants = {.window = true, .pacing = true, .tells_round_trips = true},
                  .make = make_with<&CongestionConfig::swift, make_swift>},
    CongestionRow{.policy = CongestionPolicy::dctcp,
                  .wants = {.marks = true, .mark_echo = true, .window = true},
                  .make = make_with<&CongestionConfig::dctcp, make_dctcp>},
    CongestionRow{.policy = CongestionPolicy::hpcc,
                  .wants = {.telemetry = true, .window = true, .pacing = true},
                  .make = make_with<&CongestionConfig::hpcc, make_hpcc>},
};

}  // namespace

const CongestionRow& congestion_row(CongestionPolicy policy) {
  const auto* const row = std::ranges::find(kRows, policy, &CongestionRow::policy);
  VERBENA_ASSERT(row != kRows.end());
  return *row;
}

std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config) {
  const CongestionRow& row = congestion_row(config.policy);
  if (row.make == nullptr) return nullptr;
  auto control = row.make(config);
  control->take_up(row.wants);
  return control;
}

}  // namespace verbena::nic
