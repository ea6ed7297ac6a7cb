#include "scenarios/language/scenario.h"

#include <algorithm>

namespace verbena::scenarios {

fabric::Topology topology_at_nic_speeds(const Scenario& scenario) {
  fabric::Topology topology = scenario.topology;
  for (std::uint32_t host = 0; host < scenario.nics.size(); ++host)
    topology.slow_to_nic(host, scenario.nics[host].speed_bits_per_second.value_or(0));
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
