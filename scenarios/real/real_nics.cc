#include "scenarios/real/real_nics.h"

#include <utility>
#include <vector>

namespace verbena::scenarios {
namespace {

/// What the rails of a node have to have in common.
host::NicTuning common_part(host::NicTuning tuning) {
  tuning.speed_bits_per_second.reset();
  tuning.numa_node.reset();
  return tuning;
}

host::NicTuning tuning_of(const Scenario& scenario, std::uint32_t host) {
  host::NicTuning tuning;
  if (host >= scenario.nics.size()) return tuning;
  const NicSettings& settings = scenario.nics[host];
  tuning = {settings};
  tuning.mtu_bytes = settings.mtu();
  tuning.window_bytes = settings.window();
  return tuning;
}

}  // namespace

Result<host::NicTuning, std::string> real_tuning(const Scenario& scenario, std::uint32_t node) {
  const fabric::Topology topology = topology_at_nic_speeds(scenario);
  const std::vector<std::uint64_t> rates = topology.port_rates();
  const std::uint32_t first = node * topology.rails;
  host::NicTuning tuning = tuning_of(scenario, first);
  std::vector<std::uint64_t> numa_nodes;
  for (std::uint32_t host = first; host < first + topology.rails; ++host) {
    const host::NicTuning other = tuning_of(scenario, host);
    if (common_part(other) != common_part(tuning) || other.numa_node.has_value() != tuning.numa_node.has_value())
      return Failure{"one program has one environment: give " + topology.vertices[first].name + " and " +
                     topology.vertices[host].name + " the same nic:, but for their speed and, if both have one, numa"};
    if (other.numa_node) numa_nodes.push_back(*other.numa_node);
  }
  tuning.say_speeds({rates.begin() + first, rates.begin() + first + topology.rails});
  if (!numa_nodes.empty()) tuning.say("numa", std::move(numa_nodes));
  return tuning;
}

}  // namespace verbena::scenarios
