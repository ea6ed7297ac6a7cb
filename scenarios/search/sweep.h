// Sweep: a scenario with one seed after the other, in processes of their own, so that one that breaks breaks no other.
//
// Solely handing out seeds and collecting verdicts. Every worker is ended and waited for before sweep() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/language/scenario.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/virtual/run_virtual.h"

namespace verbena::scenarios {

/// Runs one scenario with the seed that it has; in a worker.
using SweepRunner = std::function<Outcome(const Scenario&, const RunOptions&)>;

struct SweepOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  unsigned jobs = 1;
  const StopSign* stop = nullptr;
  SweepRunner run = run_virtual;  // Outcome is all that is looked at
  /// Now and then; called in sweep()'s own process.
  std::function<void(std::uint64_t seeds_done, std::uint64_t crashed)> progress;
};

struct FailedSeed {
  std::uint64_t seed = 0;
  bool crashed = false;
  std::string why;    // the first expectation that did not hold, and what was seen
  std::string cause;  // the same without what was seen: what others may fail by as well
};

struct SweepResult {
  std::uint64_t seeds_done = 0;
  std::vector<FailedSeed> failed;  // by seed
  bool interrupted = false;
  std::string error;  // not empty: no worker could be started, or there is no memory for a run
};

/// Failed seeds that have one cause, by seed.
struct FailureCause {
  std::string cause;
  std::vector<const FailedSeed*> seeds;
};
/// Those with the most seeds first. They point into `failed`.
std::vector<FailureCause> causes_of(const std::vector<FailedSeed>& failed);

SweepResult sweep(const Scenario& scenario, const SweepOptions& options);

/// Why an outcome does not hold, in one line.
std::string failure_text(const Outcome& outcome);
/// What of it does not depend on the seed.
std::string failure_cause(const Outcome& outcome);

}  // namespace verbena::scenarios
