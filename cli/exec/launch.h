// Starting a program: in place of this process, or as its child.
//
// What the program finds in its environment is emulator/host/config/launch_environment.h's. Knows nothing of options.
// Tested by: tests/cli/command_line_test.cc
#pragma once

#include <string>
#include <vector>

namespace verbena::cli {

/// execvp(). Returns only if it failed, with the exit status to end with and the reason in `error`.
int replace_process(const std::vector<std::string>& program, std::string& error);

/// Forks, passes signals on, waits. Returns the child's exit status (128 + signal if one killed it).
int run_and_wait(const std::vector<std::string>& program, std::string& error);

}  // namespace verbena::cli
