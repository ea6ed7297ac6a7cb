// Runs of scenarios, one after the other, in this process.
// Tested by: tests/cli/run_test.cc
#pragma once

#include "cli/run/options.h"

namespace verbena::cli::run {

/// The exit status.
int run_files(const CommandLine& line, const Options& options);

}  // namespace verbena::cli::run
