// What every subcommand of `verbena` shares: how a command line is parsed, and how a wrong one is answered.
//
// A subcommand is one function from its arguments to an exit status, in one file; subcommands.cc holds their table.
// Nothing here knows what a subcommand does.
// Tested by: tests/cli/style_test.cc
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help/description.h"

namespace verbena::cli {

/// A wrong command line. Failures of Verbena itself (as env, timeout and nohup have it), of the program to be run.
inline constexpr int kExitUsage = 2;
/// Of captures: nothing in it could be told or judged; damaged, and no rule is broken up to there.
inline constexpr int kExitNothing = 3;
inline constexpr int kExitDamaged = 4;
inline constexpr int kExitInternal = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

using Arguments = std::vector<std::string>;

int run_check(const Arguments& arguments);
int run_completion(const Arguments& arguments);
int run_demo(const Arguments& arguments);
int run_subnet(const Arguments& arguments);
int run_doctor(const Arguments& arguments);
int run_exec(const Arguments& arguments);
int run_exhaust(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_fabric(const Arguments& arguments);
int run_fault(const Arguments& arguments);
int run_init(const Arguments& arguments);
int run_paper(const Arguments& arguments);
int run_personality(const Arguments& arguments);
int run_run(const Arguments& arguments);
int run_stat(const Arguments& arguments);

/// How a command that reports is to do it. The two exclude each other.
struct Reporting {
  bool quiet = false;  // nothing on stdout where nothing is wrong: the exit status says it
  bool json = false;
};

/// Splits `OPTIONS [--] PROGRAM ARGUMENTS`.
struct SplitArguments {
  Arguments options;
  Arguments program;
};

/// One subcommand's command line: what it takes, its help, and how it answers what is wrong. What the values mean is
/// for the subcommand to check; here they are text. Every option is given once, unless it is a list. What is bound
/// outlives it.
class CommandLine {
 public:
  /// `name` stands before each message ("verbena exec"), `usage` and `description` begin the help.
  CommandLine(std::string name, std::string usage, std::string description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  const std::string& name() const { return name_; }

  /// An option with a value; the help shows the value that is bound as the default, unless it is empty.
  void option(const char* option, std::string& into, const char* type, const char* text);
  /// One that may be repeated, with one value each time.
  void option(const char* option, std::vector<std::string>& into, const char* type, const char* text);
  void flag(const char* option, bool& into, const char* text);
  void required_argument(const char* argument, std::string& into, const char* text);
  void argument(const char* argument, std::string& into, const char* text);
  void arguments(const char* argument, std::vector<std::string>& into, const char* text);
  /// --quiet and --json, of every command that reports. `json_text`: what the JSON is.
  void reporting(Reporting& into, const char* quiet_text, const char* json_text);
  /// What a status says; "0" and such that only this command has. Those of all commands are added.
  void exit_status(std::string status, std::string text);
  void example(std::string command, std::string text);
  /// Text at the end of the help.
  void footer(std::string text);

  /// Parses into what is bound. A value: the process is to end with it (help, or a usage error that has been reported).
  std::optional<int> parse(const Arguments& arguments);
  /// Knows which options take a value.
  SplitArguments split_program(const Arguments& arguments) const;
  /// One line on stderr, `NAME: text`; returns `status`.
  int fail(int status, std::string_view text) const;

 private:
  struct Parser;  // CLI11's, whose headers take longer to compile than all that uses it
  void add_argument(const char* argument, const char* text, bool is_list);
  std::string help() const;

  std::string name_;
  help::Description description_;
  const Reporting* reporting_ = nullptr;
  std::unique_ptr<Parser> parser_;
};

/// What a subcommand says of itself: it is called, and does nothing but declare its command line.
help::Description describe(int (*run)(const Arguments&));

/// A whole decimal number in [least, most].
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t most);

}  // namespace verbena::cli
