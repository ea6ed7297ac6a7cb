// The `faults:` of a scenario: packets on links, in Verbena's words or as Lumina's data-pkt-events, and verbs. What
// happens to links, switches and nodes is read_element_faults.cc's.
#include <algorithm>
#include <array>

#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/link_names.h"
#include "emulator/fabric/nearest_word.h"
#include "scenarios/language/fault_words.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kRangeMax = 1'000'000;

/// The fault of packets or verbs with this text, of those that were read so far.
std::size_t read_earlier_fault(const Value& value, const Scenario& scenario) {
  const std::string text = value.text();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const fabric::Fault& what = scenario.faults[i].what;
    const bool is_rule =
        std::holds_alternative<fabric::PacketRule>(what) || std::holds_alternative<fabric::HostVerbRule>(what);
    if (!is_rule || scenario.faults[i].text != text) continue;
    if (found) value.wrong("two faults above have this text: make them differ");
    found = i;
  }
  if (!found) value.wrong("no fault of packets or verbs above has this text: write it as it stands there");
  return *found;
}

/// A key that counts for another subject.
void refuse_count(const Section& section, const char* key, const char* subject) {
  if (const auto other = section.find(key)) other->wrong(std::string("it belongs to ") + subject + ":");
}

Trigger::Condition read_condition(const Value& value, const ElementNames& names, const Scenario& scenario) {
  const Section section(value, "condition");
  Trigger::Condition condition;
  section.exclude("workload", "link");
  section.exclude("workload", "fault");
  section.exclude("link", "fault");
  if (!section.has("workload")) refuse_count(section, "completed", "workload");
  if (!section.has("link")) refuse_count(section, "carried", "link");
  if (!section.has("fault")) refuse_count(section, "hits", "fault");
  if (const auto fault = section.find("fault")) {
    condition.kind = Trigger::Condition::Kind::hits;
    condition.fault = read_earlier_fault(*fault, scenario);
    condition.subject = scenario.faults[condition.fault].text;
    condition.count = section.need("hits", "1").number(1, kCountMax);
  } else if (const auto link = section.find("link")) {
    condition.kind = Trigger::Condition::Kind::packets;
    const std::vector<LinkChoice> links = names.cables(*link);
    if (links.size() != 1) link->wrong("name one link, such as n1-s1");
    condition.subject = names.topology().cable_name(links.front().cable);
    condition.count = section.need("carried", "1000").number(1, kCountMax);
  } else {
    condition.kind = Trigger::Condition::Kind::completions;
    condition.subject = read_workload_name(section.need("workload", "NAME"), scenario);
    if (condition.subject.empty()) section.find("workload")->wrong("name one workload");
    condition.count = section.need("completed", "100").number(1, kCountMax);
  }
  return condition;
}

// -- Packets in Verbena's words

fabric::FaultRule read_rule(const Value& value) {
  const auto rule = fabric::parse_fault(value.text());
  if (!rule) complain(value.place(), rule.error());
  return *rule;
}

std::vector<LinkChoice> whole_network(const ElementNames& names) {
  std::vector<LinkChoice> links;
  for (std::uint32_t cable = 0; cable < names.topology().cables.size(); ++cable) links.push_back({cable, Way::both});
  return links;
}

/// `on` is what files had before: readers of YAML 1.1 take it for the boolean true.
std::optional<Value> link_of(const Section& fault) {
  fault.exclude("link", "on");
  return fault.has("link") ? fault.find("link") : fault.find("on");
}

void add_packet_fault(const Value& text, const std::optional<Value>& on, const Trigger& trigger,
                      const ElementNames& names, Scenario& scenario) {
  fabric::PacketRule fault;
  fault.rule = read_rule(text);
  const fabric::SeenFrom direction = fabric::direction_said(fault.rule);
  if (!on && direction && *direction != fabric::FaultDirection::both)
    complain(text.place(), "dir= needs link: with the node that it is seen from");
  fault.links = links_of(on ? names.directions(*on, direction) : whole_network(names));
  scenario.faults.push_back({fault.rule.text, text.place(), trigger, fault});
}

// -- Lumina's events (the SIGCOMM 2023 tool): conf/example.yml and the switch program say what they mean. qpn is the
// connection, in the order of their first data packet on the link; psn counts the packets of a message from 0 and means
// every message's, unless msg names some; iter is the round in which the message is transmitted, which begins anew each
// time that the sender goes back. A bit error makes the ICRC wrong. Lumina's restriction to one message in flight for
// drops and errors is not needed: rounds are counted for each message.

/// A number, a range `4-7` or `all`, as the fault's text takes it.
std::string read_range(const Value& value, std::uint64_t least) {
  const std::string word = value.word();
  const std::size_t dash = word.find('-');
  const auto first = fabric::parse_number(std::string_view(word).substr(0, dash));
  const auto last = dash == word.npos ? first : fabric::parse_number(std::string_view(word).substr(dash + 1));
  const bool fine = first && last && least <= *first && *first <= *last && *last <= kRangeMax;
  if (word != "all" && !fine)
    value.wrong("write a number from " + std::to_string(least) + " to " + std::to_string(kRangeMax) +
                ", a range such as 4-7, or all");
  return word;
}

std::string lumina_text(const Section& event) {
  constexpr std::array<fabric::Named<std::string_view>, 3> kTypes{
      {{"drop", "drop"}, {"ecn", "mark"}, {"bit-error", "corrupt where=icrc"}}};
  constexpr std::array<fabric::Named<std::string_view>, 3> kDirections{{{"tx", "tx"}, {"rx", "rx"}, {"both", "both"}}};
  std::string text(event.need("type", "drop").choice(kTypes));
  const auto opcode = event.find("opcode");
  text += " opcode=" + (opcode ? opcode->word() : std::string("data"));
  text += " qp=" + read_range(event.need("qpn", "0"), 0);
  text += " packet=" + read_range(event.need("psn", "0"), 0);
  const auto iteration = event.find("iter");
  text += " round=" + (iteration ? read_range(*iteration, 1) : std::string("1"));
  if (const auto value = event.find("msg")) text += " msg=" + read_range(*value, 0);
  if (const auto value = event.find("every")) text += " every=" + std::to_string(value->number(1, kRangeMax));
  if (const auto value = event.find("count")) text += " count=" + std::to_string(value->number(1, kRangeMax));
  if (const auto value = event.find("dir")) text += " dir=" + std::string(value->choice(kDirections));
  return text;
}

std::vector<LinkChoice> turned(std::vector<LinkChoice> links) {
  for (LinkChoice& link : links)
    if (link.way != Way::both) link.way = link.way == Way::forward ? Way::backward : Way::forward;
  return links;
}

void add_lumina_events(const Section& fault, const Trigger& trigger, const ElementNames& names, Scenario& scenario) {
  const auto on = link_of(fault);
  std::size_t entries = 0;
  for (const Value& item : fault.need("data-pkt-events", "[{qpn: 0, psn: 4, type: drop, iter: 1}]").items()) {
    if (++entries > kEntriesMax)
      complain(item.place(), "there are more than " + std::to_string(kEntriesMax) + " events");
    const Section event(item, "data-pkt-event");
    const auto rule = fabric::parse_fault(lumina_text(event));
    if (!rule) complain(event.place(), rule.error());
    const auto direction = event.has("dir") ? std::optional(rule->direction) : std::nullopt;
    std::vector<LinkChoice> links;
    if (on)
      links = names.directions(*on, direction);
    else if (rule->direction == fabric::FaultDirection::both)
      links = whole_network(names);
    else
      links = rule->direction == fabric::FaultDirection::rx ? turned(names.out_of_hosts()) : names.out_of_hosts();
    scenario.faults.push_back({rule->text, item.place(), trigger, fabric::PacketRule{*rule, links_of(links)}});
  }
}

// -- Verbs

void add_verb_fault(const Section& fault, const Trigger& trigger, const ElementNames& names, Scenario& scenario) {
  const Value text = *fault.find("verbs");
  const auto rule = fabric::parse_verb_rule(text.text());
  if (!rule) complain(text.place(), rule.error());
  if (scenario.clock == Clock::virtual_time && fabric::is_of_processes(rule->action))
    complain(
        text.place(),
        "workloads are no processes and have no connection manager: programs do (clock: real); node-crash ends a node");
  if (scenario.clock == Clock::virtual_time && !is_called_by_workloads(rule->verb))
    complain(text.place(), "workloads do not call " + std::string(fabric::verb_name(rule->verb)) + ": they call " +
                               verbs_of_workloads() + "; programs do (clock: real)");
  fault.exclude("node", "on");
  const auto on = fault.has("node") ? fault.find("node") : fault.find("on");
  fabric::HostVerbRule made{*rule, {}};
  if (on && scenario.clock == Clock::real_time) (void)names.nodes(*on);  // programs have all devices of their node
  if (on)
    made.hosts = names.hosts(*on);
  else
    for (std::uint32_t host = 0; host < names.topology().hosts; ++host) made.hosts.push_back(host);
  scenario.faults.push_back({rule->text, text.place(), trigger, std::move(made)});
}

// -- One entry of the list

/// No key of it says what happens.
[[noreturn]] void refuse_fault(const Value& item, const std::vector<std::string_view>& kinds) {
  std::string known;
  for (const std::string_view name : kinds) known += (known.empty() ? "" : ", ") + std::string(name);
  std::string like;
  for (const std::string& key : keys_written(item)) {
    for (const fabric::FaultActionWords& action : fabric::fault_action_words())
      if (key == action.action.name) item.wrong("a fault of packets is a text: write packet: \"" + key + " 0.1%\"");
    if (like.empty()) like = fabric::did_you_mean(key, kinds);
  }
  item.wrong("write a fault such as drop 0.1%, or a map with one of the keys " + known + like);
}

void read_fault(const Value& item, const ElementNames& names, std::span<const fabric::ElementRow> rows,
                Scenario& scenario) {
  if (item.is_word()) return add_packet_fault(item, std::nullopt, {}, names, scenario);
  std::vector<std::string_view> kinds{"packet", "data-pkt-events", "verbs"};
  for (const fabric::ElementRow& row : rows) kinds.push_back(row.word);
  std::string kind;
  for (const std::string& key : keys_written(item)) {
    if (std::find(kinds.begin(), kinds.end(), key) == kinds.end()) continue;
    if (!kind.empty()) complain(item.place(), "a fault is one thing: this says " + kind + " and " + key);
    kind = key;
  }
  if (kind.empty()) refuse_fault(item, kinds);
  if (const fabric::ElementRow* const row = fabric::find_element(kind, rows))
    return read_element_fault(item, *row, names, scenario);
  const Section fault(item, kind);
  if (kind == "verbs") return add_verb_fault(fault, read_trigger(fault, "at", names, scenario), names, scenario);
  const Trigger trigger = read_trigger(fault, "from", names, scenario);
  if (kind == "packet")
    add_packet_fault(*fault.find("packet"), link_of(fault), trigger, names, scenario);
  else
    add_lumina_events(fault, trigger, names, scenario);
}

}  // namespace

Trigger read_trigger(const Section& fault, std::string_view start, const ElementNames& names,
                     const Scenario& scenario) {
  Trigger trigger;
  const bool can_end = fault.may_have("until");
  fault.exclude(start, "when");
  if (can_end) fault.exclude("until", "for");
  if (const auto at = fault.find(start)) {
    trigger.at = at->duration();
    if (trigger.at >= scenario.timeout) at->wrong("the scenario's timeout is over by then");
  }
  if (const auto when = fault.find("when")) trigger.condition = read_condition(*when, names, scenario);
  if (const auto after = fault.find("after")) {
    if (!trigger.condition) after->wrong("it is a time after a condition: write when:, or the time of the beginning");
    trigger.condition->after = after->duration();
  }
  if (!can_end) return trigger;
  if (const auto until = fault.find("until")) {
    if (trigger.condition) until->wrong("with when: the end is not known beforehand: use for:");
    trigger.until = until->duration();
    if (*trigger.until <= trigger.at) until->wrong("the fault would end before it begins");
  }
  if (const auto lasting = fault.find("for")) {
    if (lasting->duration().ns == 0) lasting->wrong("write more than nothing");
    if (trigger.condition)
      trigger.lasting = lasting->duration();
    else
      trigger.until = trigger.at + lasting->duration();
  }
  return trigger;
}

void read_faults(const Value& list, const ElementNames& names, Scenario& scenario,
                 std::span<const fabric::ElementRow> rows) {
  std::size_t entries = 0;
  for (const Value& item : list.items()) {
    if (++entries > kEntriesMax)
      complain(item.place(), "there are more than " + std::to_string(kEntriesMax) + " faults");
    read_fault(item, names, rows, scenario);
  }
}

}  // namespace verbena::scenarios
