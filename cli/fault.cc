// `verbena fault`: passes what the user wants on to the running fabric, which knows the words
// (emulator/host/fabric_commands.h), and shows its answer.
#include "cli/command.h"
#include "emulator/host/fabric_control.h"

namespace verbena::cli {

namespace {

constexpr const char* kWords =
    "Words:\n"
    "  add LINK RULE                  a fault, as of `verbena exec --fault`: add n1-s1 drop 1%\n"
    "  remove NUMBER | list | clear   of the faults that were added\n"
    "  link-down LINK | link-up LINK\n"
    "  link-rate LINK RATE            10Gbps, 100Mbps, 0: frames take no time\n"
    "  link-delay LINK TIME [JITTER]  5us 1us\n"
    "  switch-crash s1,s2 | switch-restart s1\n"
    "  partition n1,n2 n3 [one-way] | heal\n"
    "  port-error n1,n2 | port-active n1    all cables of a node down or up\n"
    "  device-removal n1,n2           the RDMA device of the processes that run there now goes\n"
    "What parts nodes cuts their programs' own TCP and UDP sockets as well (docs/sockets.md); `add` does not.\n"
    "LINK: n1-s1 for both directions, n1->s1 for one, all; `verbena stat` lists them.\n";

}  // namespace

int run_fault(const Arguments& arguments) {
  CommandLine line("verbena fault", "verbena fault [--fabric NAME] WORD ...",
                   "Changes the faults of a running fabric (`verbena fabric`, or a scenario with `clock: real`).\n");
  std::string fabric = "default";
  line.option("--fabric", fabric, "NAME", "name of the fabric");
  line.footer(kWords);
  const SplitArguments split = line.split_program(arguments);
  if (const auto status = line.parse(split.options)) return *status;
  if (split.program.empty()) return line.fail(kExitUsage, "a word is missing: add, list, link-down, ... (see --help)");
  const auto answer = host::ask_fabric(fabric, split.program);
  if (!answer) return line.fail(kExitUsage, answer.error().text);
  if (split.program.front() == "add")
    fmt::print("fault {}\n", *answer);
  else if (split.program.front() == "remove")
    fmt::print("it had hit {} packets\n", *answer);
  else
    fmt::print("{}", *answer);
  return 0;
}

}  // namespace verbena::cli
