// One run by the scenario's clock.
#pragma once

#include "scenarios/run/outcome.h"

namespace verbena::cli::run {

scenarios::Outcome run_scenario(const scenarios::Scenario& scenario, const scenarios::RunOptions& options);

}  // namespace verbena::cli::run
