// `verbena fault`: passes what the user wants on to the running fabric, which knows the words
// (emulator/host/fabric_process/fabric_commands.h), and shows its answer.
// Tested by: tests/cli/command_line_test.cc
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/fabric_advice.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_json.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "wire/counted.h"

namespace verbena::cli {

namespace {

constexpr const char* kOnDirectCables =
    "; programs on direct cables have nobody who could tell them while they run: give them --fault";

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

/// The rule for verbs that the words end in; empty: they are about something else.
std::string verb_rule_in(const std::vector<std::string>& words) {
  const auto is_word = [&](const host::FabricCommands::Explained& word) { return word.name == words.front(); };
  std::size_t first = words.front() == "add" ? 2 : 1;
  if (first == 1 && std::ranges::any_of(host::FabricCommands::explained(), is_word)) return {};
  std::string text;
  for (; first < words.size(); ++first) text += (text.empty() ? "" : " ") + words[first];
  return fabric::is_verb_rule(text) ? text : std::string();
}

/// What is wrong with it, before the fabric is asked.
std::string wrong_rule(const std::string& text) {
  const auto rule = fabric::parse_verb_rule(text);
  if (!rule) return rule.error();
  if (const std::string odd = fabric::warning_of(*rule); !odd.empty())
    fmt::print(stderr, "verbena fault: '{}': {}\n", text, odd);
  return {};
}

/// Those who do not listen are told of: the fault is not theirs yet.
void warn_of_unheard(const std::string& fabric, std::uint32_t number) {
  const auto reply = host::ask_fabric(fabric, host::AskSnapshot{});
  const auto* const seen = reply ? std::get_if<host::FabricSnapshot>(&*reply) : nullptr;
  if (seen == nullptr) return;
  for (const host::FabricSnapshot::Fault& fault : seen->faults)
    if (fault.number == number && fault.unheard != 0)
      fmt::print(stderr,
                 "verbena fault: {} on {}: stopped, or without a thread that runs? The fault holds there as soon as "
                 "they hear\n",
                 host::unheard_text(fault), fault.where);
}

void show(const host::FabricReply& reply) {
  if (const auto* added = std::get_if<host::FaultAdded>(&reply))
    fmt::print("fault {}\n", added->number);
  else if (const auto* removed = std::get_if<host::FaultRemoved>(&reply))
    fmt::print("it had hit {}\n", wire::counted(removed->hits, fabric::to_string(removed->unit)));
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
  const std::string verb_rule = verb_rule_in(split.program);
  if (!verb_rule.empty())
    if (const std::string wrong = wrong_rule(verb_rule); !wrong.empty()) return line.fail(kExitUsage, wrong);
  const auto reply = host::ask_fabric(fabric, host::SayWords{split.program});
  if (!reply) {
    const bool is_of_programs = !verb_rule.empty() && !reply.error().served;
    return line.fail(kExitUsage, with_advice(reply.error(), fabric) + (is_of_programs ? kOnDirectCables : ""));
  }
  if (const auto* added = std::get_if<host::FaultAdded>(&*reply); added != nullptr && !verb_rule.empty())
    warn_of_unheard(fabric, added->number);
  if (reporting.json)
    show_json(*reply);
  else if (!reporting.quiet)
    show(*reply);
  return 0;
}

}  // namespace verbena::cli
