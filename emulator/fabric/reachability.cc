#include "emulator/fabric/reachability.h"

#include <utility>

#include "emulator/fabric/network_state.h"

namespace verbena::fabric {
namespace {

/// Sets of vertices as rows of words, so that a mesh of hundreds of switches takes a fraction of a millisecond.
class VertexSets {
 public:
  explicit VertexSets(std::size_t vertices) : words_((vertices + 63) / 64), bits_(vertices * words_) {}
  std::uint64_t* row(std::size_t set) { return &bits_[set * words_]; }
  std::size_t words() const { return words_; }
  void add(std::size_t set, std::uint32_t vertex) { row(set)[vertex / 64] |= std::uint64_t{1} << vertex % 64; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Everything that `from` leads to: through switches, for hosts do not forward.
std::vector<std::uint64_t> spread(VertexSets& neighbours, const Topology& topology, std::uint32_t from) {
  const std::size_t words = neighbours.words();
  std::vector<std::uint64_t> reached(words);
  std::vector<std::uint32_t> border = {from};
  reached[from / 64] |= std::uint64_t{1} << from % 64;
  while (!border.empty()) {
    const std::uint32_t at = border.back();
    border.pop_back();
    for (std::size_t word = 0; word < words; ++word) {
      std::uint64_t found = neighbours.row(at)[word] & ~reached[word];
      reached[word] |= found;
      for (; found != 0; found &= found - 1) {
        const auto vertex = static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(__builtin_ctzll(found)));
        if (!topology.is_host(vertex)) border.push_back(vertex);
      }
    }
  }
  return reached;
}

}  // namespace

Reachability Network::reachability() const {
  const State& state = *state_;
  const Topology& topology = state.topology;
  VertexSets neighbours(topology.vertices.size());
  for (const LinkDirection& direction : state.directions)
    if (direction.is_up && state.is_dead[direction.from] == 0 && state.is_dead[direction.to] == 0)
      neighbours.add(direction.from, direction.to);
  Reachability found(topology.hosts);
  for (std::uint32_t from = 0; from < topology.hosts; ++from) {
    const std::vector<std::uint64_t> reached = spread(neighbours, topology, from);
    for (std::uint32_t to = 0; to < topology.hosts; ++to)
      found.set(from, to,
                (reached[to / 64] >> to % 64 & 1) != 0 && !state.cut_pairs.contains(std::uint64_t{from} << 32 | to));
  }
  return found;
}

}  // namespace verbena::fabric
