#include "cli/subcommands.h"

#include <algorithm>

namespace verbena::cli {
namespace {

// In the order in which somebody new needs them.
constexpr Subcommand kSubcommands[] = {
    {"demo", run_demo, "show it: two programs on two nodes, clean and under packet loss"},
    {"doctor", run_doctor, "say what this machine lets programs on nodes do, and what to do about it"},
    {"init", run_init, "write a first scenario and a CI file into a project"},
    {"exec", run_exec, "run an RDMA program on a node of a fabric"},
    {"exhaust", run_exhaust, "let each verb, packet and completion of a program fail once"},
    {"run", run_run, "run scenarios and judge their expectations"},
    {"fabric", run_fabric, "serve a fabric with switches, for programs to plug in"},
    {"subnet", run_subnet, "run InfiniBand's subnet managers and tools on an emulated subnet"},
    {"fault", run_fault, "change the faults of a running fabric"},
    {"stat", run_stat, "show the counters of a running fabric"},
    {"explain", run_explain, "tell the story of a capture"},
    {"check", run_check, "check a capture against the rules of the transport"},
    {"personality", run_personality, "show the NICs that a device can be like, or make one"},
    {"paper", run_paper, "run an experiment of the literature, beside its published values"},
    {"completion", run_completion, "print the completions for bash, zsh or fish"},
};

}  // namespace

std::span<const Subcommand> subcommands() {
  return kSubcommands;
}

const Subcommand* find_subcommand(std::string_view name) {
  const auto* const found = std::ranges::find(kSubcommands, name, &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : found;
}

std::string subcommand_names() {
  std::string names;
  for (const Subcommand& subcommand : kSubcommands) names += (names.empty() ? "" : ", ") + std::string(subcommand.name);
  return names;
}

}  // namespace verbena::cli
