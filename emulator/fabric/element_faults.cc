#include "emulator/fabric/element_faults.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::fabric {
namespace {

using Kind = ElementChange::Kind;
using Hosts = std::vector<std::uint32_t>;

template <class T>
bool has(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ElementChange link_up(LinkId link, bool is_up) {
  return {.kind = is_up ? ElementChange::Kind::link_up : ElementChange::Kind::link_down, .links = {link}};
}
ElementChange link_rate(LinkId link, std::uint64_t bits_per_second) {
  return {.kind = ElementChange::Kind::link_rate, .links = {link}, .rate_bits_per_second = bits_per_second};
}
ElementChange link_delay(LinkId link, Duration propagation, Duration jitter) {
  return {.kind = ElementChange::Kind::link_delay, .links = {link}, .delay = propagation, .jitter = jitter};
}
ElementChange switch_up(std::uint32_t vertex, bool is_up) {
  return {.kind = is_up ? Kind::switch_restart : Kind::switch_crash, .switches = {vertex}};
}

void ElementFaults::apply(Time now, const ElementChange& change) {
  switch (change.kind) {
    case Kind::link_down:
    case Kind::link_up:
      for (const LinkId link : change.links) set_link(now, link, change.kind == Kind::link_up);
      return;
    case Kind::link_rate:
      for (const LinkId link : change.links) control_.set_link_rate(now, link, change.rate_bits_per_second);
      return;
    case Kind::link_delay:
      for (const LinkId link : change.links) control_.set_link_delay(link, change.delay, change.jitter);
      return;
    case Kind::partition:
      return cut(change);
    case Kind::heal:
      return heal(change);
    case Kind::switch_crash:
    case Kind::switch_restart:
      return set_switches(now, change.switches, change.kind == Kind::switch_restart);
    case Kind::port_error:
    case Kind::port_active:
      return set_ports(now, change.hosts, change.kind == Kind::port_active);
    case Kind::pause_storm:
    case Kind::pause_calm:
      return set_pauses(now, change);
  }
}

void ElementFaults::set_link(Time now, LinkId link, bool up) {
  control_.set_link_up(now, link, up);
  if (up)
    dead_links_.erase(link);
  else
    dead_links_.insert(link);
}

void ElementFaults::set_ports(Time now, const Hosts& hosts, bool up) {
  for (const std::uint32_t host : hosts)
    for (const std::uint32_t cable : network_.topology().cables_of(host))
      for (const bool backward : {false, true}) set_link(now, {cable, backward}, up);
}

void ElementFaults::set_switches(Time now, const Hosts& switches, bool up) {
  for (const std::uint32_t vertex : switches) {
    control_.set_switch_up(now, vertex, up);
    if (up)
      dead_switches_.erase(vertex);
    else
      dead_switches_.insert(vertex);
  }
}

void ElementFaults::set_pauses(Time now, const ElementChange& change) {
  if (!network_.topology().qos) return;  // nobody listens
  for (const std::uint32_t host : change.hosts) {
    ClassMask& classes = pause_storms_[host];
    const int others = classes & ~change.classes;
    classes = static_cast<ClassMask>(change.kind == Kind::pause_storm ? others | change.classes : others);
    control_.set_pause_storm(now, host, classes);
  }
}

void ElementFaults::cut(const ElementChange& change) {
  for (const std::uint32_t from : change.hosts)
    for (const std::uint32_t to : change.peers)
      if (from != to) control_.set_partition(from, to, true);
  partitions_.push_back({change.hosts, change.peers});
}

std::vector<ElementFaults::Partition>::const_iterator ElementFaults::find_latest(const Hosts& hosts,
                                                                                 const Hosts& peers) const {
  const auto found = std::find_if(partitions_.rbegin(), partitions_.rend(), [&](const Partition& partition) {
    return partition.hosts == hosts && partition.peers == peers;
  });
  return found == partitions_.rend() ? partitions_.end() : std::prev(found.base());
}

bool ElementFaults::has_partition(const Hosts& hosts, const Hosts& peers) const {
  return find_latest(hosts, peers) != partitions_.end();
}

void ElementFaults::heal(const ElementChange& change) {
  std::vector<Partition> ended;
  if (change.hosts.empty()) {
    ended = std::exchange(partitions_, {});
  } else {
    const auto found = find_latest(change.hosts, change.peers);
    if (found == partitions_.end()) return;
    ended.push_back(*found);
    partitions_.erase(found);
  }
  const auto still = cut_pairs();
  for (const Partition& partition : ended)
    for (const std::uint32_t from : partition.hosts)
      for (const std::uint32_t to : partition.peers)
        if (from != to && !still.contains({from, to})) control_.set_partition(from, to, false);
}

std::set<std::pair<std::uint32_t, std::uint32_t>> ElementFaults::cut_pairs() const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Partition& partition : partitions_)
    for (const std::uint32_t from : partition.hosts)
      for (const std::uint32_t to : partition.peers)
        if (from != to) pairs.emplace(from, to);
  return pairs;
}

void ElementFaults::add_rule(std::uint32_t id, std::vector<LinkId> links, FaultRule rule) {
  rule.id = id;
  const auto [place, is_new] = rules_.emplace(id, Rule{std::move(links), std::move(rule)});
  VERBENA_ASSERT(is_new);
  for (const LinkId link : place->second.links) set_plan(link);
}

void ElementFaults::remove_rule(std::uint32_t id) {
  const auto found = rules_.find(id);
  if (found == rules_.end()) return;
  const std::vector<LinkId> links = std::move(found->second.links);
  rules_.erase(found);
  for (const LinkId link : links) set_plan(link);
}

void ElementFaults::set_plan(LinkId link) {
  std::vector<FaultRule> rules;
  for (const auto& [id, rule] : rules_)
    if (has(rule.links, link)) rules.push_back(rule.rule);
  control_.set_faults(link, rules);
}

std::uint64_t ElementFaults::hits(std::uint32_t id) const {
  const auto found = rules_.find(id);
  if (found == rules_.end()) return 0;
  std::uint64_t sum = 0;
  for (const LinkId link : found->second.links) {
    std::size_t index = 0;  // among the rules of this link, in the order that set_plan() gave them
    for (auto before = rules_.begin(); before != found; ++before) index += has(before->second.links, link) ? 1 : 0;
    sum += control_.rule_counters(link, index).applied;
  }
  return sum;
}

}  // namespace verbena::fabric
