// The table of the subcommands: their names and what each does in a line.
//
// Solely the table; who looks at it: main.cc, the help, man pages and completions.
// Tested by: tests/cli/style_test.cc
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace verbena::cli {

struct Subcommand {
  std::string_view name;
  int (*run)(const Arguments&);
  std::string_view summary;
};

std::span<const Subcommand> subcommands();
/// Null: there is none of this name.
const Subcommand* find_subcommand(std::string_view name);
/// "check, exec, ...", for messages.
std::string subcommand_names();

}  // namespace verbena::cli
