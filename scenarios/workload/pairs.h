// Pairs: which host sends to which under a workload's pattern.
//
// Solely the list, in a fixed order. Permutations are drawn from the scenario's seed.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct HostPair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  constexpr auto operator<=>(const HostPair&) const = default;
};

/// ring_allreduce: each member and the next one. All of the first rail first.
std::vector<HostPair> pairs_of(const Workload& workload, std::uint64_t seed);

}  // namespace verbena::scenarios
