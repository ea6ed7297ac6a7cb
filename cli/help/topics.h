// `verbena help`: the commands in short, the help of one, the page on faults, man pages.
//
// Solely which of them is meant; what they say is fault_page.h's, man_page.h's and each command's own.
// Tested by: tests/cli/help_test.cc
#pragma once

#include <string_view>

#include "cli/command.h"

namespace verbena::cli::help {

/// `verbena --help`.
void print_commands();
/// `verbena help ARGUMENTS`; the exit status.
int run_help(const Arguments& arguments, std::string_view version);

}  // namespace verbena::cli::help
