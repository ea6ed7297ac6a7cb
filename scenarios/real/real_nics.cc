#include "scenarios/real/real_nics.h"

namespace verbena::scenarios {

host::NicTuning real_tuning(const Scenario& scenario, std::uint32_t host) {
  host::NicTuning tuning;
  if (host < scenario.nics.size()) {
    const NicSettings& settings = scenario.nics[host];
    tuning = {settings};
    tuning.mtu_bytes = settings.mtu();
    tuning.window_bytes = settings.window();
  }
  const std::uint64_t speed = topology_at_nic_speeds(scenario).port_rates()[host];
  if (speed != 0) tuning.speed_bits_per_second = speed;
  return tuning;
}

}  // namespace verbena::scenarios
