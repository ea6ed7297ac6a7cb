// `verbena fault`: passes what the user wants on to the running fabric, which knows the words
// (emulator/host/fabric_process/fabric_commands.h), and shows its answer.
// Tested by: tests/cli/command_line_test.cc
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/fabric_advice.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_json.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "wire/counted.h"

namespace verbena::cli {

namespace {

std::string words_text() {
  std::string text = "Words:\n";
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained())
    text += fmt::format("  {}\n", word.usage);
  return text +
         "LINK: n1-s1, n1->s1 for one direction, n1, n1.2 (a rail), s1, hosts, trunks, all; `verbena stat` lists "
         "them.\n"
         "What parts nodes cuts their programs' own TCP and UDP sockets as well (docs/sockets.md); `add` does not.\n"
         "`verbena help fault` explains each word, and all that RULE can be.\n";
}

void show(const host::FabricReply& reply) {
  if (const auto* added = std::get_if<host::FaultAdded>(&reply))
    fmt::print("fault {}\n", added->number);
  else if (const auto* removed = std::get_if<host::FaultRemoved>(&reply))
    fmt::print("it had hit {}\n", wire::counted(removed->hits, "packet"));
  else if (const auto* seen = std::get_if<host::FabricSnapshot>(&reply))
    fmt::print("{}", host::faults_text(*seen));
}

void show_json(const host::FabricReply& reply) {
  auto json = nlohmann::ordered_json::object();
  if (const auto* added = std::get_if<host::FaultAdded>(&reply))
    json["fault"] = added->number;
  else if (const auto* removed = std::get_if<host::FaultRemoved>(&reply))
    json["hits"] = removed->hits;
  else if (const auto* seen = std::get_if<host::FabricSnapshot>(&reply))
    json = host::faults_json(*seen);
  fmt::print("{}\n", json.dump());
}

}  // namespace

int run_fault(const Arguments& arguments) {
  CommandLine line("verbena fault", "verbena fault [--fabric NAME] WORD ...",
                   "Changes the faults of a running fabric (`verbena fabric`, or a scenario with `clock: real`).\n");
  std::string fabric = host::kFabricDefault;
  line.option("--fabric", fabric, "NAME", "name of the fabric");
  Reporting reporting;
  line.reporting(reporting, "print no answer",
                 "the answer as JSON, one line: the fault's number, its hits, what `list` lists");
  line.exit_status("0", "the fabric has done it");
  line.example("verbena fault link-down n1-s1", "a cable is dead until link-up");
  line.footer(words_text());
  const SplitArguments split = line.split_program(arguments);
  if (const auto status = line.parse(split.options)) return *status;
  if (split.program.empty()) return line.fail(kExitUsage, "a word is missing: add, list, link-down, ... (see --help)");
  const auto reply = host::ask_fabric(fabric, host::SayWords{split.program});
  if (!reply) return line.fail(kExitUsage, with_advice(reply.error(), fabric));
  if (reporting.json)
    show_json(*reply);
  else if (!reporting.quiet)
    show(*reply);
  return 0;
}

}  // namespace verbena::cli
