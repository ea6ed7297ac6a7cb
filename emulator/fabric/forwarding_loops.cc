// Loops in the forwarding tables of a managed subnet: switches that pass a LID's packets round.
//
// For one LID each switch has one way out, so that the switches make a graph in which each has one successor at most:
// who is met a second time on the way from anywhere is in a loop. Two switches that name each other by the same cable
// make none, since a switch sends nothing back where it came from (IBA volume 1, 16.1.4.1, PortSwLoopingErrors).
// Tested by: tests/fabric/network_subnet_test.cc
#include <algorithm>

#include "emulator/fabric/subnet_forwarding.h"

namespace verbena::fabric {

/// By which direction a switch's packets for the LID go to another switch. kNoDirection: they do not.
DirectionNumber SubnetForwarding::data_way(std::size_t from, std::uint32_t lid) const {
  const Switch& at = switches_[from];
  const std::uint8_t port = lid < at.forwarding.size() ? at.forwarding[lid] : UINT8_MAX;
  const DirectionNumber number = way_of(at, port);
  if (number == kNoDirection) return kNoDirection;
  const LinkDirection& direction = network_.directions[number];
  const bool passes = direction.is_up && direction.is_active && !network_.topology.is_host(direction.to) &&
                      network_.is_dead[direction.to] == 0 && network_.is_dead[direction.from] == 0;
  return passes ? number : kNoDirection;
}

std::vector<ForwardingLoop> SubnetForwarding::loops(std::size_t most) const {
  std::vector<ForwardingLoop> found;
  std::size_t lids = 0;
  for (const Switch& one : switches_) lids = std::max(lids, one.forwarding.size());
  std::vector<std::uint32_t> seen(switches_.size());  // by which walk, ever
  std::uint32_t walk = 0;
  std::vector<LinkId> way;
  for (std::uint32_t lid = 1; lid < lids; ++lid) {
    const std::uint32_t first_walk = walk + 1;
    for (std::size_t start = 0; start < switches_.size(); ++start) {
      if (seen[start] >= first_walk) continue;
      ++walk;
      std::size_t at = start;
      while (seen[at] < first_walk) {
        seen[at] = walk;
        const DirectionNumber number = data_way(at, lid);
        if (number == kNoDirection) break;
        at = network_.directions[number].to - network_.topology.hosts;
      }
      if (seen[at] != walk || data_way(at, lid) == kNoDirection) continue;
      // It has met itself: once around from here.
      way.clear();
      std::size_t round = at;
      do {
        const LinkDirection& direction = network_.directions[data_way(round, lid)];
        way.push_back(direction.link);
        round = direction.to - network_.topology.hosts;
      } while (round != at);
      if (way.size() == 2 && way[0].cable == way[1].cable) continue;
      std::ranges::rotate(way, std::ranges::min_element(way));
      const auto same = std::ranges::find(found, way, &ForwardingLoop::links);
      if (same != found.end())
        ++same->lids;
      else if (found.size() < most)
        found.push_back({static_cast<std::uint16_t>(lid), 1, way});
    }
  }
  return found;
}

}  // namespace verbena::fabric
