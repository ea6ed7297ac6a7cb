#include "cli/help/fault_page.h"

#include <algorithm>
#include <array>

#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/quantity.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "scenarios/language/fault_words.h"
#include "scenarios/language/keys.h"

namespace verbena::cli::help {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOwnSockets =
    "What a program sends through TCP and UDP sockets of its own goes through the kernel and not over the fabric's "
    "cables. In a fabric that a fabric process serves, what parts nodes cuts these sockets as well, as long as it "
    "does: "
    "link-down, port-error, switch-crash, partition, and a scenario's node-crash and node-freeze. A new connection is "
    "silent, an established one stalls and goes on when the cable is back, or fails when TCP gives up; datagrams "
    "vanish. "
    "Faults of packets (drop, delay, ...) leave sockets alone, and so does --sockets uncut. On direct cables no fault "
    "reaches them. docs/sockets.md has the whole of it.";

void add_introduction(Page& page) {
  page.paragraph(
      "Everything that can be made to go wrong, with every word, its values and an example. This page is what `verbena "
      "help fault` prints; it is made from the tables that the words are read by. There are six ways to say a fault; "
      "`verbena exec --fault-plan FILE` reads those of `--fault` from a file, one a line:");
  page.lines(
      {"verbena exec --node 2 --fault 'drop 0.1%' -- PROGRAM    on what one process sends or receives",
       "verbena exec --fault 'fail verb=create_qp' -- PROGRAM   on the verbs that a process calls, and on its "
       "completions",
       "verbena fault add n1-s1 drop 0.1%                       on a cable of a running fabric",
       "verbena fault n1 fail verb=create_qp                    on the verbs of a running fabric's programs",
       "faults: [{packet: 'drop 0.1%', link: n1-s1}]            on a cable of a scenario, for a time",
       "faults: [{verbs: 'fail verb=reg_mr', node: n1}]         on the verbs of a scenario's software, for a time",
       "verbena fault link-down n1-s1, faults: [{link-down: n1-s1}]   on cables, switches, nodes"});
  page.paragraph(
      "Chance is drawn from the seed (`--seed`, `seed:`): the same seed, link and packets give the same faults, "
      "whatever "
      "the timing. All faults that are there are tried on every packet; a drop ends it, others add up. Captures carry "
      "on "
      "each packet the fault that hit it.");
}

void add_actions(Page& page, const std::vector<fabric::FaultActionWords>& actions) {
  for (const fabric::FaultActionWords& entry : actions) {
    page.word(entry.action.name, entry.action.value, entry.action.text, entry.action.example);
    for (const fabric::FaultWord& word : entry.parameters)
      page.part(std::string(word.name) + "=", word.value, word.text, word.example);
  }
}
void add_conditions(Page& page, const std::vector<fabric::FaultWord>& words) {
  for (const fabric::FaultWord& word : words)
    page.word(std::string(word.name) + "=", word.value, word.text, word.example);
}

void add_packet_faults(Page& page, const fabric::FaultTable& table) {
  page.heading("Packets: ACTION [WORD]...");
  page.paragraph(
      "One action, then words in any order, separated by blanks: which packets (below), and how the action is done "
      "(with the action). A packet is hit if all that is said fits.");
  add_actions(page, fabric::fault_action_words(table));
  page.heading("Which packets");
  add_conditions(page, fabric::fault_condition_words());
  page.paragraph(
      "A flow is what goes from one address to one QP of another. Requests and responses (acknowledgements, NAKs, read "
      "and atomic responses) of a flow are numbered apart: qp, psn, iter, msg, packet and round speak of requests, "
      "unless "
      "opcode names a kind of response or data. Packets of QP1 (opcode=cm) and CNPs are in no flow. Without these "
      "words a "
      "fault hits requests and responses alike.");
}

void add_verb_faults(Page& page) {
  page.heading("Calls of verbs, completions, events: ACTION [WORD]...");
  page.paragraph(
      "What a program's own calls come to, and what its NIC tells it: of one program (`verbena exec --fault`, beside "
      "faults of packets), of all on a node, also while they run (`verbena fault n1 RULE`), and of a scenario's "
      "software "
      "(`verbs:`). A rule counts the calls or completions that fit it; each work request of a list that is posted is a "
      "call. All rules are asked of every one, the first one that fails it says with what, all else adds up. The verbs "
      "are called as in the man pages, without ibv_; variants are the same verb (create_qp_ex is create_qp, each "
      "request "
      "of ibv_wr_complete is a post_send; if one fails, none is posted). Calls of librdmacm have their rdma_, and fail "
      "as the kernel's answer to them would. Without such a rule a verb costs what it did. `--stats` tells how often "
      "each has hit, `verbena fault list` and the report of a scenario do so of theirs.");
  page.paragraph(
      "Limits of the device are settings of the NIC: `--nic 'memlock=64KiB max-qp=8 max-inline=64'` (registering more "
      "is "
      "ENOMEM, as with a low RLIMIT_MEMLOCK).");
  add_actions(page, fabric::verb_action_words());
  page.heading("Which calls and completions");
  add_conditions(page, fabric::verb_condition_words());
}

void add_fabric_words(Page& page, std::span<const fabric::ElementRow> elements) {
  page.heading("A running fabric: verbena fault [--fabric NAME] WORD ...");
  page.paragraph(
      "For `verbena fabric` and scenarios with `clock: real`. LINK is as in scenarios: a cable, n1-s1 for both "
      "directions, n1->s1 for one; a node n1, a rail n1.2 or a switch s1 for its cables (of packets, for what leaves "
      "it; "
      "with dir=rx what enters it); hosts, trunks or all; or several with commas. `verbena stat` lists them.");
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained(elements))
    page.word(word.usage, "", word.text, "verbena fault " + word.example);
}

/// The first of them is its own.
std::string keys_text(std::span<const std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys.subspan(1)) text += (text.empty() ? "" : ", ") + std::string(key);
  return text;
}

void add_scenario_faults(Page& page, std::span<const fabric::ElementRow> rows) {
  page.heading("A scenario: faults:");
  page.paragraph(
      "Each entry of the list is a packet fault on all links, as a text, or a map with one of these keys, which names "
      "what is hit, and others that say when and how.");
  page.word("packet", "", "A packet fault, as above. Keys: " + keys_text(scenarios::keys_of("packet")) + ".",
            "{" + std::string(scenarios::kPacketFaultExample) + "}");
  page.word("data-pkt-events", "",
            "Packet faults as Lumina has them. Keys: " + keys_text(scenarios::keys_of("data-pkt-events")) + ".",
            "{" + std::string(scenarios::kLuminaFaultExample) + "}");
  for (const scenarios::FaultKeyWord& word : scenarios::lumina_key_words())
    page.part(word.key, word.value, word.text, "");
  page.word(
      "verbs", "",
      "A fault of verbs, completions or an event, as above; after= and at= in it count from when it begins. Under "
      "virtual time it is of the workloads' software, which calls " +
          scenarios::verbs_of_workloads() +
          "; a call that is late keeps all software of its host waiting. With `clock: real` it is of the node's "
          "programs. Keys: " +
          keys_text(scenarios::keys_of("verbs")) + ".",
      "{" + std::string(scenarios::kVerbFaultExample) + "}");
  for (const fabric::ElementRow& row : rows)
    page.word(row.word, "",
              std::string(row.in_scenario.text) + (row.needs_virtual_clock ? " Under virtual time only." : "") +
                  " Keys: " + keys_text(scenarios::keys_of(row)) + ".",
              "{" + std::string(row.in_scenario.example) + "}");
  page.heading("Keys of a scenario's faults");
  for (const scenarios::FaultKeyWord& word : scenarios::fault_key_words())
    page.word(word.key, word.value, word.text, "");
}

void add_quantities(Page& page) {
  page.heading("Values");
  for (const fabric::QuantityForm& form : fabric::quantity_forms()) {
    std::string examples;
    for (const std::string_view example : form.examples)
      examples += (examples.empty() ? "" : ", ") + std::string(example);
    page.word(form.name, form.units.empty() ? "" : "units: " + form.units, form.text, examples);
  }
}

Json undo_of(const host::FabricCommands::Explained& word) {
  if (!word.undo.empty()) return {{"word", word.undo}};
  if (word.restores.empty()) return nullptr;
  Json values = Json::array();
  for (const fabric::LinkValue& value : word.restores) values.push_back({{"key", value.key}, {"unit", value.unit}});
  return {{"word", word.name}, {"values", values}};
}

Json json_of(const fabric::FaultWord& word) {
  return {{"word", word.name}, {"value", word.value}, {"text", word.text}, {"example", word.example}};
}
Json json_of(const std::vector<fabric::FaultWord>& words) {
  Json all = Json::array();
  for (const fabric::FaultWord& word : words) all.push_back(json_of(word));
  return all;
}
Json json_of(const std::vector<fabric::FaultActionWords>& actions) {
  Json all = Json::array();
  for (const fabric::FaultActionWords& entry : actions) {
    all.push_back(json_of(entry.action));
    all.back()["words"] = json_of(entry.parameters);
  }
  return all;
}

}  // namespace

nlohmann::ordered_json fault_words(const FaultTables& tables) {
  Json fabric = Json::array();
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained(tables.elements))
    fabric.push_back({{"word", word.name},
                      {"usage", word.usage},
                      {"text", word.text},
                      {"example", word.example},
                      {"undo", undo_of(word)}});
  return {{"fabric", fabric},
          {"packets", json_of(fabric::fault_action_words(tables.packets))},
          {"conditions", json_of(fabric::fault_condition_words())},
          {"verbs", json_of(fabric::verb_action_words())},
          {"verb_conditions", json_of(fabric::verb_condition_words())}};
}

Page fault_page(const FaultTables& tables) {
  Page page("Faults");
  add_introduction(page);
  add_packet_faults(page, tables.packets);
  add_verb_faults(page);
  add_fabric_words(page, tables.elements);
  add_scenario_faults(page, tables.elements);
  add_quantities(page);
  page.heading("The program's own sockets");
  page.paragraph(std::string(kOwnSockets));
  return page;
}

}  // namespace verbena::cli::help
