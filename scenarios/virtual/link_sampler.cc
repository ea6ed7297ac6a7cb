#include "scenarios/virtual/link_sampler.h"

#include "scenarios/language/element_names.h"

namespace verbena::scenarios {

LinkSampler::LinkSampler(const Scenario& scenario, Time begin, Judge& judge, OutDirectory& out)
    : interval_(scenario.sample), begin_(begin), judge_(judge), out_(out) {
  if (interval_.ns == 0) return;
  next_ = begin + interval_;
  for (std::uint32_t cable = 0; cable < scenario.topology.cables.size(); ++cable)
    for (const Way way : {Way::forward, Way::backward})
      links_.push_back({.name = link_name(scenario.topology, {cable, way})});
}

void LinkSampler::take(const sim::World& world) {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    const sim::LinkId id{i / 2, i % 2 != 0};
    const sim::LinkStatistics now = world.network().link_statistics(next_, id);
    judge_.sampled(id, next_, now.queue_octets);
    const std::uint64_t load = now.octets - link.octets;
    const bool is_idle = load == 0 && now.queue_octets == 0;
    if (!is_idle || !link.was_idle)
      out_.link_sample({.time = next_ - begin_, .link = link.name, .octets = load, .queue_octets = now.queue_octets});
    link.octets = now.octets;
    link.was_idle = is_idle;
  }
  next_ = next_ + interval_;
}

}  // namespace verbena::scenarios
