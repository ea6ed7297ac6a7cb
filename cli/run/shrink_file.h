// The fewest faults with which a scenario still fails, printed as YAML.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "scenarios/language/scenario.h"

namespace verbena::cli::run {

/// A value: the process is to end with it.
std::optional<int> shrink_file(const CommandLine& line, const scenarios::Scenario& scenario, const std::string& file);

}  // namespace verbena::cli::run
