// One run by the scenario's clock.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <functional>

#include "scenarios/outcome/outcome.h"

namespace verbena::cli::run {

/// What `run` gives; where it runs out of memory, an outcome that says so.
scenarios::Outcome within_memory(const std::function<scenarios::Outcome()>& run);

scenarios::Outcome run_scenario(const scenarios::Scenario& scenario, const scenarios::RunOptions& options);

}  // namespace verbena::cli::run
