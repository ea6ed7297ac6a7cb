#include "emulator/fabric/routing.h"

#include <algorithm>

namespace verbena::fabric {

Routing::Routing(const Topology& topology, std::span<const Hop> hops, std::uint64_t seed)
    : hosts_(topology.hosts),
      switches_(topology.switches()),
      attachments_(topology.hosts),
      out_(topology.switches()),
      in_(topology.switches()),
      to_hosts_(topology.hosts),
      stored_(topology.switches()) {
  for (const Hop& hop : hops) {
    const bool from_host = hop.from < hosts_;
    const bool to_host = hop.to < hosts_;
    if (from_host && to_host) {
      to_hosts_[hop.from].push_back(hop);
    } else if (from_host) {
      attachments_[hop.from].to_switch = hop.to;
      attachments_[hop.from].up = hop.direction;
    } else if (to_host) {
      attachments_[hop.to].down = hop.direction;
    } else {
      out_[hop.from - hosts_].push_back(hop);
      in_[hop.to - hosts_].push_back(hop);
    }
  }
  const auto by_target = [](const Hop& a, const Hop& b) { return a.to < b.to; };
  for (auto& ways : to_hosts_) std::sort(ways.begin(), ways.end(), by_target);

  std::vector<std::uint32_t> edge_of(switches_, kNone);
  for (Attachment& attachment : attachments_) {
    if (attachment.to_switch == kNone) continue;
    std::uint32_t& edge = edge_of[attachment.to_switch - hosts_];
    if (edge == kNone) {
      edge = edges_++;
      edge_switches_.push_back(attachment.to_switch - hosts_);
    }
    attachment.edge = edge;
  }
  for (std::uint32_t i = 0; i < switches_; ++i) salts_.push_back(mix_all({seed, i}));
  sets_.resize(std::size_t{switches_} * edges_);
}

DirectionNumber Routing::first(std::uint32_t from, std::uint32_t destination) const {
  const auto& ways = to_hosts_[from];
  if (ways.empty()) return attachments_[from].up;
  const auto found = std::lower_bound(ways.begin(), ways.end(), destination,
                                      [](const Hop& way, std::uint32_t to) { return way.to < to; });
  return found != ways.end() && found->to == destination ? found->direction : kNoDirection;
}

void Routing::rebuild(const std::vector<bool>& alive) {
  ways_.clear();
  singles_.assign(alive.size(), kNone);
  for (auto& sets : stored_) sets.clear();
  for (std::uint32_t edge = 0; edge < edges_; ++edge) build_column(edge, alive);
}

/// Breadth first from the edge switch, against the direction of travel.
void Routing::build_column(std::uint32_t edge, const std::vector<bool>& alive) {
  distance_.assign(switches_, kNone);
  border_.assign(1, edge_switches_[edge]);
  distance_[border_.front()] = 0;
  for (std::size_t done = 0; done < border_.size(); ++done) {
    const std::uint32_t at = border_[done];
    for (const Hop& hop : in_[at]) {
      std::uint32_t& distance = distance_[hop.from - hosts_];
      if (!alive[hop.direction] || distance != kNone) continue;
      distance = distance_[at] + 1;
      border_.push_back(hop.from - hosts_);
    }
  }
  std::vector<DirectionNumber> ways;
  for (std::uint32_t at = 0; at < switches_; ++at) {
    ways.clear();
    if (distance_[at] != kNone && distance_[at] != 0)
      for (const Hop& hop : out_[at])
        if (alive[hop.direction] && distance_[hop.to - hosts_] + 1 == distance_[at]) ways.push_back(hop.direction);
    sets_[std::size_t{at} * edges_ + edge] = store(at, ways);
  }
}

Routing::Set Routing::store(std::uint32_t at_switch, std::span<const DirectionNumber> ways) {
  if (ways.empty()) return {};
  ways = ways.first(std::min(ways.size(), kEqualWaysMax));
  // Every direction can stand alone; what is more only while there is place.
  if (ways.size() == 1 || ways_.size() + ways.size() + singles_.size() > kStoredWaysMax) {
    std::uint32_t& place = singles_[ways.front()];
    if (place == kNone) {
      place = static_cast<std::uint32_t>(ways_.size());
      ways_.push_back(ways.front());
    }
    Set set;
    set.first = place & 0xffffff;
    set.count = 1;
    return set;
  }
  // The last ones first: neighbours in the order of edges mostly share their ways.
  constexpr std::size_t kLookBackMax = 64;
  std::vector<Set>& known = stored_[at_switch];
  for (std::size_t back = 1; back <= std::min(known.size(), kLookBackMax); ++back) {
    const Set set = known[known.size() - back];
    if (set.count == ways.size() && std::equal(ways.begin(), ways.end(), ways_.begin() + set.first)) return set;
  }
  Set set;
  set.first = static_cast<std::uint32_t>(ways_.size()) & 0xffffff;
  set.count = static_cast<std::uint8_t>(ways.size());
  ways_.insert(ways_.end(), ways.begin(), ways.end());
  known.push_back(set);
  return set;
}

}  // namespace verbena::fabric
