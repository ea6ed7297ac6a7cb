#include "emulator/fabric/spanning_tree.h"

#include <algorithm>

namespace verbena::fabric {

SpanningTree::SpanningTree(const Topology& topology, std::span<const Hop> hops)
    : hosts_(topology.hosts), out_(topology.vertices.size()), ways_(topology.vertices.size()) {
  for (const Hop& hop : hops) out_[hop.from].push_back(hop);
}

/// Between two switches there may be several cables; the way back of each is not kept, any living one will do.
bool SpanningTree::is_open(const Hop& hop, const std::vector<bool>& alive) const {
  const auto& back = out_[hop.to];
  return alive[hop.direction] && std::any_of(back.begin(), back.end(), [&](const Hop& other) {
           return other.to == hop.from && alive[other.direction];
         });
}

void SpanningTree::rebuild(const std::vector<bool>& alive) {
  std::vector<bool> is_reached(out_.size());
  for (auto& ways : ways_) ways.clear();
  for (std::uint32_t root = hosts_; root < out_.size(); ++root) {
    if (is_reached[root]) continue;
    is_reached[root] = true;
    std::vector<std::uint32_t> border{root};
    for (std::size_t i = 0; i < border.size(); ++i) {
      for (const Hop& hop : out_[border[i]]) {
        if (hop.to < hosts_ || is_reached[hop.to] || !is_open(hop, alive)) continue;
        is_reached[hop.to] = true;
        border.push_back(hop.to);
        ways_[hop.from].push_back(hop);
        for (const Hop& back : out_[hop.to]) {
          if (back.to != hop.from || !alive[back.direction]) continue;
          ways_[hop.to].push_back(back);
          break;
        }
      }
    }
  }
  for (std::uint32_t vertex = 0; vertex < out_.size(); ++vertex) {
    for (const Hop& hop : out_[vertex])
      if ((vertex < hosts_ || hop.to < hosts_) && alive[hop.direction]) ways_[vertex].push_back(hop);
    std::sort(ways_[vertex].begin(), ways_[vertex].end(),
              [](const Hop& a, const Hop& b) { return a.direction < b.direction; });
  }
}

}  // namespace verbena::fabric
