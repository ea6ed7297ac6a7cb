// `verbena run --random`: one random scenario after the other, until one fails, the seeds are through, or time is up.
#pragma once

#include "cli/run/options.h"
#include "scenarios/search/sweep.h"

namespace verbena::cli::run {

/// The scenario of the seed.
scenarios::Outcome run_random(const scenarios::Scenario& scenario, const scenarios::RunOptions& options);

/// The exit status. `run` is what a worker does with a seed.
int soak(const CommandLine& line, const Options& options, const scenarios::SweepRunner& run = run_random);

}  // namespace verbena::cli::run
