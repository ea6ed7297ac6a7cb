#include "scenarios/workload/pairs.h"

#include <algorithm>

#include "emulator/fabric/chance.h"

namespace verbena::scenarios {
namespace {

/// Everybody to somebody else, nobody twice: a random cycle through all members (Sattolo 1986).
std::vector<HostPair> permutation(const std::vector<std::uint32_t>& members, std::uint64_t seed) {
  std::vector<std::uint32_t> targets = members;
  fabric::Dice dice(seed);
  for (std::size_t i = targets.size(); i > 1; --i) std::swap(targets[i - 1], targets[dice.below(i - 1)]);
  std::vector<HostPair> pairs;
  for (std::size_t i = 0; i < members.size(); ++i) pairs.push_back({members[i], targets[i]});
  return pairs;
}

std::vector<HostPair> pairs_of_nodes(const Workload& workload, std::uint64_t seed) {
  const auto& from = workload.from;
  const auto& to = workload.to;
  std::vector<HostPair> pairs;
  switch (workload.pattern) {
    case Pattern::pair:
      for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) pairs.push_back({from[i], to[i]});
      break;
    case Pattern::incast:
      for (const std::uint32_t host : from)
        if (!to.empty()) pairs.push_back({host, to[0]});
      break;
    case Pattern::outcast:
      for (const std::uint32_t host : to)
        if (!from.empty()) pairs.push_back({from[0], host});
      break;
    case Pattern::all_to_all:
      for (const std::uint32_t a : from)
        for (const std::uint32_t b : from)
          if (a != b) pairs.push_back({a, b});
      break;
    case Pattern::permutation:
      return permutation(from, fabric::mix_all({seed, fabric::hash_text(workload.name)}));
    case Pattern::ring_allreduce:
      for (std::size_t i = 0; i < from.size(); ++i) pairs.push_back({from[i], from[(i + 1) % from.size()]});
      break;
  }
  return pairs;
}

}  // namespace

std::vector<HostPair> pairs_of(const Workload& workload, std::uint64_t seed) {
  std::vector<HostPair> pairs = pairs_of_nodes(workload, seed);
  const std::size_t of_one_rail = pairs.size();
  for (std::uint32_t rail = 1; rail < workload.rails; ++rail)
    for (std::size_t i = 0; i < of_one_rail; ++i) pairs.push_back({pairs[i].from + rail, pairs[i].to + rail});
  return pairs;
}

}  // namespace verbena::scenarios
