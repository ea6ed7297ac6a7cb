// A scenario that the command line names: a file, or one of those that came with Verbena, by its name.
//
// Solely responsible for where it is looked for; scenarios/language reads it.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/read_scenario.h"

namespace verbena::cli {

/// `name`: a path; or, where no such file is there, that of a scenario of Verbena's own, as in "topology-ring-link",
/// with or without .yaml. Profiles are looked for beside the file and then among Verbena's own.
Result<scenarios::Scenario, scenarios::ReadError> read_named_scenario(const std::string& name);

struct LibraryScenario {
  std::string name;  // as read_named_scenario() takes it
  std::string file;
};
/// Verbena's own, by name.
std::vector<LibraryScenario> library_scenarios();

}  // namespace verbena::cli
