// `verbena fault`: passes what the user wants on to the running fabric, which knows the words
// (emulator/host/fabric_process/fabric_commands.h), and shows its answer.
#include "cli/command.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "emulator/host/node/fabric_question.h"

namespace verbena::cli {

namespace {

std::string words_text() {
  std::string text = "Words:\n";
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained())
    text += fmt::format("  {}\n", word.usage);
  return text +
         "LINK: n1-s1 for both directions, n1->s1 for one, all; `verbena stat` lists them.\n"
         "What parts nodes cuts their programs' own TCP and UDP sockets as well (docs/sockets.md); `add` does not.\n"
         "`verbena help fault` explains each word, and all that RULE can be.\n";
}

}  // namespace

int run_fault(const Arguments& arguments) {
  CommandLine line("verbena fault", "verbena fault [--fabric NAME] WORD ...",
                   "Changes the faults of a running fabric (`verbena fabric`, or a scenario with `clock: real`).\n");
  std::string fabric = host::kFabricDefault;
  line.option("--fabric", fabric, "NAME", "name of the fabric");
  line.footer(words_text());
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
