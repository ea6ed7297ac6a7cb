#include "scenarios/language/scenario.h"

#include <algorithm>

namespace verbena::scenarios {

fabric::Topology topology_at_nic_speeds(const Scenario& scenario) {
  fabric::Topology topology = scenario.topology;
  for (fabric::Cable& cable : topology.cables) {
    std::uint64_t& rate = cable.parameters.rate_bits_per_second;
    for (const std::uint32_t end : {cable.a, cable.b}) {
      const std::uint64_t speed = end < scenario.nics.size() ? scenario.nics[end].speed_bits_per_second.value_or(0) : 0;
      if (speed != 0) rate = rate == 0 ? speed : std::min(rate, speed);
    }
  }
  return topology;
}

std::vector<fabric::LinkId> links_of(const LinkChoice& choice) {
  std::vector<fabric::LinkId> links;
  if (choice.way != Way::backward) links.push_back({choice.cable, false});
  if (choice.way != Way::forward) links.push_back({choice.cable, true});
  return links;
}

std::vector<fabric::LinkId> links_of(const std::vector<LinkChoice>& choices) {
  std::vector<fabric::LinkId> links;
  for (const LinkChoice& choice : choices)
    for (const fabric::LinkId link : links_of(choice)) links.push_back(link);
  return links;
}

}  // namespace verbena::scenarios
