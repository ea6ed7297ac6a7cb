// Where the scenario of a run comes from: its file, or the generator (--random).
// Tested by: tests/cli/run_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "cli/run/options.h"
#include "scenarios/language/read_scenario.h"

namespace verbena::cli::run {

/// `file`: of Options::files, which names no file with --random.
Result<scenarios::Scenario, scenarios::ReadError> read_input(const Options& options, const std::string& file);
Result<scenarios::Scenario, scenarios::ReadError> make_random(std::uint64_t seed);
std::string random_name(std::uint64_t seed);

}  // namespace verbena::cli::run
