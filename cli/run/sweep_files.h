// Runs of scenarios with many seeds, in processes of their own.
// Tested by: tests/cli/run_test.cc
#pragma once

#include "cli/run/options.h"

namespace verbena::cli::run {

/// The exit status.
int sweep_files(const CommandLine& line, const Options& options);

}  // namespace verbena::cli::run
