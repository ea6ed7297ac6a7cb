// Looking at a program before it is run: where it is, and whether the dynamic linker will honour LD_PRELOAD for it.
//
// Does not run anything (launch.h does).
// Tested by: tests/cli/command_line_test.cc
#pragma once

#include <optional>
#include <string>

namespace verbena::cli {

/// What execvp() would run for this name: the name itself if it has a slash, else the first executable in PATH.
std::optional<std::string> find_program(const std::string& name);

/// Why Verbena cannot get into the program at `path`, in words that follow "PROGRAM is ..."; nothing if it can, or if
/// that cannot be told. Scripts are judged by their interpreter.
std::optional<std::string> why_not_preloadable(const std::string& path);

}  // namespace verbena::cli
