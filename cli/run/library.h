// `verbena run --list` and `--check`: what there is to run, and what a run would do. Nothing runs.
// Tested by: tests/cli/run_test.cc
#pragma once

#include "cli/run/options.h"

namespace verbena::cli::run {

/// The exit status.
int list_library(const CommandLine& line, const Options& options);
/// The same. Of several files all that is wrong is said.
int check_files(const CommandLine& line, const Options& options);

}  // namespace verbena::cli::run
