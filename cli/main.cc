// The `verbena` command: finds the subcommand and hands over. The subcommands are declared in command.h.
#include <algorithm>
#include <array>
#include <exception>

#include "cli/command.h"

namespace verbena::cli {
namespace {

struct Subcommand {
  std::string_view name;
  int (*run)(const Arguments&);
  std::string_view summary;
};

constexpr std::array kSubcommands = {
    Subcommand{"check", run_check, "check a capture against the rules of the transport"},
    Subcommand{"exec", run_exec, "run an RDMA program on a node of a fabric"},
    Subcommand{"explain", run_explain, "tell the story of a RoCE v2 capture"},
    Subcommand{"run", run_run, "run scenarios and judge their expectations"},
    Subcommand{"fabric", run_fabric, "serve a fabric with switches, for programs to plug in"},
    Subcommand{"fault", run_fault, "change the faults of a running fabric"},
    Subcommand{"stat", run_stat, "show the counters of a running fabric"},
};

void print_help() {
  fmt::print(
      "verbena: a software RDMA NIC in user space\n\n"
      "Usage: verbena COMMAND [OPTIONS] ...\n\nCommands:\n");
  for (const auto& subcommand : kSubcommands) fmt::print("  {:10}{}\n", subcommand.name, subcommand.summary);
  fmt::print(
      "\nOptions:\n"
      "  -h,--help   this text; `verbena COMMAND --help` tells more\n"
      "  --version   the version\n\n"
      "Two shells, a working pair:\n"
      "  verbena exec --node 1 -- ib_write_bw\n"
      "  verbena exec --node 2 -- ib_write_bw 127.47.91.1\n");
}

int run(const Arguments& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    print_help();
    return 0;
  }
  if (first == "--version") {
    fmt::print("verbena {}\n", VERBENA_VERSION);
    return 0;
  }
  const auto* found = std::find_if(kSubcommands.begin(), kSubcommands.end(),
                                   [&](const Subcommand& subcommand) { return subcommand.name == first; });
  if (found != kSubcommands.end()) return found->run(Arguments(arguments.begin() + 1, arguments.end()));

  if (first.empty())
    fmt::print(stderr, "verbena: a command is missing (see verbena --help)\n");
  else
    fmt::print(stderr, "verbena: unknown {} '{}' (see verbena --help)\n", first[0] == '-' ? "option" : "command",
               first);
  return kExitUsage;
}

}  // namespace
}  // namespace verbena::cli

int main(int argc, char** argv) {
  try {
    return verbena::cli::run(verbena::cli::Arguments(argv + std::min(argc, 1), argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "verbena: {}\n", error.what());
    return verbena::cli::kExitInternal;
  }
}
