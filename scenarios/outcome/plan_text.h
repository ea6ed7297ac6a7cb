// Plan: what a scenario would do, as text: its network, traffic or programs, faults with their times, expectations.
//
// Solely what was read and filled in; nothing runs.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <string>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

/// Ends with a line feed.
std::string plan_text(const Scenario& scenario);

}  // namespace verbena::scenarios
