#include "scenarios/real/real_nics.h"

namespace verbena::scenarios {

host::NicTuning real_tuning(const Scenario& scenario, std::uint32_t host) {
  host::NicTuning tuning;
  const std::uint64_t speed = topology_at_nic_speeds(scenario).port_rates()[host];
  if (speed != 0) tuning.speed_bits_per_second = speed;
  if (host >= scenario.nics.size()) return tuning;
  const NicSettings& settings = scenario.nics[host];
  const NicSettings::Stated& stated = settings.stated;
  tuning.mtu_bytes = settings.mtu_bytes;
  tuning.window_bytes = settings.window_bytes;
  if (stated.read_depth) tuning.read_depth = settings.read_depth;
  if (stated.timeout) tuning.timeout = settings.timeout;
  if (stated.retry_count) tuning.retry_count = settings.retry_count;
  if (stated.rnr_retry) tuning.rnr_retry = settings.rnr_retry;
  if (stated.min_rnr_timer) tuning.min_rnr_timer = settings.min_rnr_timer;
  tuning.timeout_min = settings.profile.timeout_min;
  tuning.acknowledge_every = settings.profile.acknowledge_every;
  tuning.dscp = settings.profile.dscp;
  tuning.cnp_dscp = settings.profile.cnp_dscp;
  tuning.cnp_interval = settings.profile.cnp_interval;
  tuning.congestion = settings.profile.congestion;
  tuning.loss_recovery = settings.profile.loss_recovery;
  tuning.page_fault_delay = settings.profile.page_fault_delay;
  tuning.nak_latency = settings.profile.nak_latency;
  tuning.acknowledge_latency = settings.profile.acknowledge_latency;
  tuning.nak_reaction_latency = settings.profile.nak_reaction_latency;
  tuning.implied_nak_latency = settings.profile.implied_nak_latency;
  return tuning;
}

}  // namespace verbena::scenarios
