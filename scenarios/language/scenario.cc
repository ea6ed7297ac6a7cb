#include "scenarios/language/scenario.h"

#include <algorithm>

namespace verbena::scenarios {

fabric::Topology topology_at_nic_speeds(const Scenario& scenario) {
  fabric::Topology topology = scenario.topology;
  for (fabric::Cable& cable : topology.cables) {
    std::uint64_t& rate = cable.parameters.rate_bits_per_second;
    for (const std::uint32_t end : {cable.a, cable.b}) {
      const std::uint64_t speed = end < scenario.nics.size() ? scenario.nics[end].rate_bits_per_second : 0;
      if (speed != 0) rate = rate == 0 ? speed : std::min(rate, speed);
    }
  }
  return topology;
}

std::uint64_t port_rate(const fabric::Topology& at_nic_speeds, std::uint32_t host) {
  std::uint64_t rate = 0;
  for (const fabric::Cable& cable : at_nic_speeds.cables)
    if (cable.a == host || cable.b == host) rate = std::max(rate, cable.parameters.rate_bits_per_second);
  return rate;
}

}  // namespace verbena::scenarios
