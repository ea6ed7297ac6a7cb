// What every subcommand of `verbena` shares: how a command line is parsed, and how a wrong one is answered.
//
// A subcommand is one function from its arguments to an exit status, in one file; main.cc holds their table. Nothing
// here knows what a subcommand does.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::cli {

/// A wrong command line. Failures of Verbena itself (as env, timeout and nohup have it), of the program to be run.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInternal = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

using Arguments = std::vector<std::string>;

int run_check(const Arguments& arguments);
int run_exec(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_run(const Arguments& arguments);
int run_fabric(const Arguments& arguments);
int run_fault(const Arguments& arguments);
int run_stat(const Arguments& arguments);

/// The first line of the help text.
void set_usage(CLI::App& app, std::string usage);

/// One line on stderr, `verbena COMMAND: text`; returns `status`.
int fail(const CLI::App& app, int status, std::string_view text);

/// Parses into what the app's options are bound to. A value: the process is to end with it (help, or a usage error that
/// has been reported). Options may not be repeated unless they are declared to take several values.
std::optional<int> parse(CLI::App& app, const Arguments& arguments);

/// Splits `OPTIONS [--] PROGRAM ARGUMENTS`, knowing from `app` which options take a value.
struct SplitArguments {
  Arguments options;
  Arguments program;
};
SplitArguments split_program(const CLI::App& app, const Arguments& arguments);

/// A whole decimal number in [least, most].
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most);

}  // namespace verbena::cli
