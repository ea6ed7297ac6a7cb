// Man pages, as roff (man(7)): of the command, of each subcommand, and of faults.
//
// Solely how they are laid out; what they say is what the help says: the table of subcommands, their command lines
// (description.h) and the page on faults.
// Tested by: tests/cli/man_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help/description.h"

namespace verbena::cli::help {

struct ManPage {
  std::string name;  // "verbena-exec"
  char section;      // '1', or '7' for what is no command
};

/// All that there are.
std::vector<ManPage> man_pages();
/// `name`: of a page ("verbena-exec") or what comes behind "verbena-" ("exec"). Nothing: there is none.
std::optional<std::string> man_page(std::string_view name, std::string_view version);

/// The page of one subcommand; for tests as well.
std::string man_page_of(const Description& description, std::string_view summary, std::string_view version);

}  // namespace verbena::cli::help
