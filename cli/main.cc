// The `verbena` command: finds the subcommand and hands over. The subcommands are declared in command.h, their table is
// subcommands.cc.
// Tested by: tests/cli/command_line_test.cc
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/command.h"
#include "cli/completion/complete.h"
#include "cli/help/topics.h"
#include "cli/style.h"
#include "cli/subcommands.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/os/shortage.h"
#include "wire/printable.h"

namespace verbena::cli {
namespace {

int fail(int status, std::string_view text) {
  fmt::print(stderr, "{}: {}\n", Style(stderr).bad("verbena"), wire::printable(text));
  return status;
}

int run(const Arguments& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h") {
    help::print_commands();
    return 0;
  }
  if (first == "--version") {
    fmt::print("verbena {}\n", VERBENA_VERSION);
    return 0;
  }
  const Arguments others(arguments.begin() + std::min<std::ptrdiff_t>(1, std::ssize(arguments)), arguments.end());
  if (first == "help") return help::run_help(others, VERBENA_VERSION);
  if (first == completion::kCompleteWord) return completion::run_complete(others);
  if (const Subcommand* const found = find_subcommand(first)) return found->run(others);

  if (first.empty()) return fail(kExitUsage, "a command is missing (see verbena --help)");
  std::vector<std::string_view> known{"help"};
  for (const Subcommand& subcommand : subcommands()) known.push_back(subcommand.name);
  return fail(kExitUsage, fmt::format("unknown {} '{}' (see verbena --help){}", first[0] == '-' ? "option" : "command",
                                      first, fabric::did_you_mean(first, known)));
}

/// What was said could not be written: a full disk behind `> FILE`.
int flush_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  return fail(kExitInternal, fmt::format("the output could not be written: {}: make room, or write it elsewhere",
                                         std::strerror(errno)));
}

}  // namespace
}  // namespace verbena::cli

int main(int argc, char** argv) {
  using namespace verbena;
  try {
    return cli::flush_output(cli::run(cli::Arguments(argv + std::min(argc, 1), argv + argc)));
  } catch (const std::bad_alloc&) {
    return cli::fail(cli::kExitInternal, host::no_memory_text());
  } catch (const std::exception& error) {
    return cli::fail(cli::kExitInternal, error.what());
  }
}
