// A scenario under virtual time, in which each single thing fails once.
// Tested by: tests/cli/exhaust_scenario_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/exhaust/options.h"

namespace verbena::cli::exhaust {

/// Whether what is to be exhausted is a scenario: one word, which ends as its files do.
bool is_scenario(const std::vector<std::string>& words);
/// The exit status.
int exhaust_scenario(const CommandLine& line, const Options& options, const std::string& file);

}  // namespace verbena::cli::exhaust
