// The `verbena` command: finds the subcommand and hands over. The subcommands are declared in command.h.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/command.h"
#include "cli/help/fault_page.h"
#include "emulator/host/os/shortage.h"

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

const Subcommand* find_subcommand(std::string_view name) {
  const auto* found = std::find_if(kSubcommands.begin(), kSubcommands.end(),
                                   [&](const Subcommand& subcommand) { return subcommand.name == name; });
  return found == kSubcommands.end() ? nullptr : found;
}

void print_help() {
  fmt::print(
      "verbena: a software RDMA NIC in user space\n\n"
      "Usage: verbena COMMAND [OPTIONS] ...\n\nCommands:\n");
  for (const auto& subcommand : kSubcommands) fmt::print("  {:10}{}\n", subcommand.name, subcommand.summary);
  fmt::print(
      "\nOptions:\n"
      "  -h,--help   this text; `verbena help COMMAND` and `verbena COMMAND --help` tell more\n"
      "  --version   the version\n\n"
      "Two shells, a working pair:\n"
      "  verbena exec --node 1 -- ib_write_bw\n"
      "  verbena exec --node 2 -- ib_write_bw 127.47.91.1\n");
}

/// `verbena help [COMMAND]`. What can go wrong on a fabric is more than a command line's help: a page of its own.
int run_help(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help();
    return 0;
  }
  const std::string& topic = arguments.front();
  const bool markdown = arguments.size() == 2 && arguments[1] == "--markdown" && topic == "fault";
  if (arguments.size() > 1 && !markdown) {
    fmt::print(stderr, "verbena help: unknown argument '{}': name one command\n", arguments[1]);
    return kExitUsage;
  }
  if (topic == "fault") {
    const help::Page page = help::fault_page();
    fmt::print("{}", markdown ? page.markdown() : page.terminal());
    return 0;
  }
  if (const Subcommand* found = find_subcommand(topic)) return found->run({"--help"});
  std::string names;
  for (const auto& subcommand : kSubcommands) names += fmt::format("{}{}", names.empty() ? "" : ", ", subcommand.name);
  fmt::print(stderr, "verbena help: there is no command '{}': {} are there\n", topic, names);
  return kExitUsage;
}

int run(const Arguments& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h") {
    print_help();
    return 0;
  }
  if (first == "help") return run_help(Arguments(arguments.begin() + 1, arguments.end()));
  if (first == "--version") {
    fmt::print("verbena {}\n", VERBENA_VERSION);
    return 0;
  }
  if (const Subcommand* found = find_subcommand(first))
    return found->run(Arguments(arguments.begin() + 1, arguments.end()));

  if (first.empty())
    fmt::print(stderr, "verbena: a command is missing (see verbena --help)\n");
  else
    fmt::print(stderr, "verbena: unknown {} '{}' (see verbena --help)\n", first[0] == '-' ? "option" : "command",
               first);
  return kExitUsage;
}

/// What was said could not be written: a full disk behind `> FILE`.
int flush_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  fmt::print(stderr, "verbena: the output could not be written: {}\n", std::strerror(errno));
  return kExitInternal;
}

}  // namespace
}  // namespace verbena::cli

int main(int argc, char** argv) {
  try {
    const int status = verbena::cli::run(verbena::cli::Arguments(argv + std::min(argc, 1), argv + argc));
    return verbena::cli::flush_output(status);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "verbena: {}\n", verbena::host::no_memory_text());
    return verbena::cli::kExitInternal;
  } catch (const std::exception& error) {
    fmt::print(stderr, "verbena: {}\n", error.what());
    return verbena::cli::kExitInternal;
  }
}
