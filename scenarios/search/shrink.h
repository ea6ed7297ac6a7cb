// Shrinking: the fewest faults with which a scenario still fails.
//
// Solely the search; what failing means is the caller's. First whole faults are left out (delta debugging, Zeller and
// Hildebrandt 2002), then those by probability become the exact packets that they hit, and these are left out in turn.
// Tested by: tests/scenarios/search/sweep_test.cc
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/outcome/outcome.h"
#include "scenarios/virtual/hit_recorder.h"

namespace verbena::scenarios {

struct ShrinkOptions {
  /// Whether the scenario fails as the original did. Called once for each attempt.
  std::function<bool(const Scenario&)> fails;
  /// The packets that faults hit in a run of it.
  std::function<std::vector<PacketHit>(const Scenario&)> hits;
  std::uint32_t attempts_max = 500;
  const StopSign* stop = nullptr;  // looked at before each attempt, and when it has failed: it may be why
};

struct Shrunk {
  Scenario scenario;  // with the faults that are left
  std::uint32_t attempts = 0;
  bool is_minimal = false;  // false: attempts_max were not enough, or it was stopped
  bool was_stopped = false;
};
/// The scenario fails; what comes back is known to fail as well.
Shrunk shrink(const Scenario& scenario, const ShrinkOptions& options);

/// The faults as the `faults:` of a scenario. Those that stand in `file_text` as they were are taken from there.
std::string faults_yaml(const Scenario& scenario, std::string_view file_text);

}  // namespace verbena::scenarios
