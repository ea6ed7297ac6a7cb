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

Duration LinkSampler::paused_since_last(const sim::World& world, std::uint32_t link) {
  if (!world.network().topology().qos) return {};
  const auto now = world.network().pause_statistics(next_, {link / 2, link % 2 != 0}).paused;
  auto& before = links_[link].paused;
  Duration most{};
  for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, now[i] - before[i]);
  before = now;
  return most;
}

void LinkSampler::take(const sim::World& world) {
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    const sim::LinkId id{i / 2, i % 2 != 0};
    const sim::LinkStatistics now = world.network().link_statistics(next_, id);
    judge_.sampled(id, next_, now.queue_octets);
    const std::uint64_t load = now.octets - link.octets;
    const Duration paused = paused_since_last(world, i);
    const bool is_idle = load == 0 && now.queue_octets == 0 && paused.ns == 0;
    if (!is_idle || !link.was_idle)
      out_.link_sample({.time = next_ - begin_,
                        .link = link.name,
                        .octets = load,
                        .queue_octets = now.queue_octets,
                        .paused = paused});
    link.octets = now.octets;
    link.was_idle = is_idle;
  }
  next_ = next_ + interval_;
}

}  // namespace verbena::scenarios
