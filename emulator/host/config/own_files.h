// Where Verbena's own files lie: found from where this executable lies, so that a tree that was moved still works.
//
// Solely responsible for the two layouts, that of the build folder and that of what is installed. No folder's name is
// compiled in: what is installed never looks into a source or build folder.
// Tested by: tests/cli/command_line_test.cc
#pragma once

#include <string>

#include "wire/result.h"

namespace verbena::host {

/// The directory with Verbena's libibverbs.so.1 and libverbena-path.so. An error is one line.
Result<std::string, std::string> find_library_directory();

/// The directory with the scenarios that came with Verbena, and their `profiles`. An error is one line.
Result<std::string, std::string> find_scenario_directory();

}  // namespace verbena::host
