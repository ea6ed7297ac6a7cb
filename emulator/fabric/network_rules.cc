// What the rules of a link have done: for whoever shows the faults of a running network.
#include "emulator/fabric/network.h"
#include "emulator/fabric/network_state.h"

namespace verbena::fabric {

RuleCounters Network::rule_counters(LinkId link, std::size_t rule) const {
  const LinkDirection& direction = state_->directions[state_->direction_of(link)];
  if (direction.faults == nullptr || rule >= direction.faults->plan.rules()) return {};
  return direction.faults->plan.counters(rule);
}

}  // namespace verbena::fabric
