// `verbena fault`: passes what the user wants on to the running fabric, which knows the words
// (emulator/host/fabric_process/fabric_commands.h), and shows its answer.
// Tested by: tests/cli/command_line_test.cc
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/fabric_advice.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "emulator/host/node/fabric_question.h"
#include "wire/counted.h"

namespace verbena::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string words_text() {
  std::string text = "Words:\n";
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained())
    text += fmt::format("  {}\n", word.usage);
  return text +
         "LINK: n1-s1 for both directions, n1->s1 for one, all; `verbena stat` lists them.\n"
         "What parts nodes cuts their programs' own TCP and UDP sockets as well (docs/sockets.md); `add` does not.\n"
         "`verbena help fault` explains each word, and all that RULE can be.\n";
}

void show(const std::string& word, const std::string& answer) {
  if (word == "add")
    fmt::print("fault {}\n", answer);
  else if (word == "remove")
    fmt::print("it had hit {}\n", wire::counted(std::stoull(answer), "packet"));
  else
    fmt::print("{}", answer);
}

/// What `list` shows is part of what the fabric says of itself.
Json list_json(const std::string& stat) {
  const Json all = Json::parse(stat);
  Json down = Json::array();
  for (const Json& link : all.at("links"))
    if (!link.at("up").get<bool>()) down.push_back(link.at("name"));
  return {{"faults", all.at("faults")}, {"down", down}, {"crashed", all.at("crashed")}, {"cut_off", all.at("cut_off")}};
}

void show_json(const std::string& word, const std::string& answer) {
  Json json = Json::object();
  if (word == "add")
    json["fault"] = std::stoull(answer);
  else if (word == "remove")
    json["hits"] = std::stoull(answer);
  else if (word == "list")
    json = list_json(answer);
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
  const std::string& word = split.program.front();
  const bool lists = reporting.json && word == "list" && split.program.size() == 1;
  const auto answer = host::ask_fabric(fabric, lists ? host::FabricWords{"stat"} : split.program);
  if (!answer) return line.fail(kExitUsage, with_advice(answer.error(), fabric));
  if (reporting.json)
    show_json(word, *answer);
  else if (!reporting.quiet)
    show(word, *answer);
  return 0;
}

}  // namespace verbena::cli
