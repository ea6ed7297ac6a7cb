// Faults of a scenario that happen to links, switches, nodes and verbs, each with the key that says what happens.
// Tested by: tests/scenarios/language/read_faults_test.cc
#include <algorithm>
#include <utility>

#include "scenarios/language/fault_words.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

using Change = fabric::ElementChange::Kind;
using Subject = fabric::ElementRow::Subject;
using fabric::ElementDetails;
using fabric::ElementRow;
namespace element_value = fabric::element_value;

constexpr std::uint64_t kTimesMax = 1'000'000;
/// Longer flaps would make a trace of nothing else.
constexpr std::uint64_t kFlapsMax = 100'000;

constexpr std::string_view kPartitionIsRight =
    "name the nodes of one side, and those of the other as peers (all others if not said): "
    "{partition: [n1, n2], peers: [n3, n4]}";

void read_partition(const Section& section, const Value& subject, const ElementNames& names, ElementDetails& said) {
  const auto one_side = [&](const Value& side) {
    const std::vector<Value> members = side.is_list() ? side.items() : std::vector<Value>{side};
    const bool has_words = std::all_of(members.begin(), members.end(), [](const Value& one) { return one.is_word(); });
    if (!has_words) side.wrong(std::string(kPartitionIsRight));
  };
  one_side(subject);
  if (const auto peers = section.find("peers")) one_side(*peers);
  said.hosts = names.hosts(subject);
  if (const auto peers = section.find("peers")) {
    said.peers = names.hosts(*peers);
  } else {
    for (std::uint32_t i = 0; i < names.topology().hosts; ++i)
      if (std::find(said.hosts.begin(), said.hosts.end(), i) == said.hosts.end()) said.peers.push_back(i);
  }
  if (said.peers.empty()) subject.wrong("nobody is left on the other side: " + std::string(kPartitionIsRight));
  for (const std::uint32_t host : said.hosts)
    if (std::find(said.peers.begin(), said.peers.end(), host) != said.peers.end())
      subject.wrong(names.topology().vertices[host].name + " is on both sides");
}

/// `all`, or the words of the partition that it ends.
void read_heal(const Section& section, const Value& subject, const ElementNames& names, const Scenario& scenario,
               ElementDetails& said) {
  if (subject.is_word() && subject.word() == "all") {
    for (const std::string_view key : {"peers", "one-way"})
      if (const auto value = section.find(key)) value->wrong("heal: all ends every partition");
    return;
  }
  read_partition(section, subject, names, said);
  const bool is_known = std::any_of(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& earlier) {
    const auto* change = std::get_if<fabric::ElementChange>(&earlier.what);
    return change != nullptr && change->kind == Change::partition && change->hosts == said.hosts &&
           change->peers == said.peers;
  });
  if (!is_known) subject.wrong("no partition above is between these; name one as it is written there, or all");
}

void read_subject(const Section& section, const ElementRow& row, const Value& subject, const ElementNames& names,
                  const Scenario& scenario, ElementDetails& said) {
  switch (row.subject) {
    case Subject::links:
      said.links = links_of(names.cables(subject));
      return;
    case Subject::hosts:
      // A whole node stops and starts; what happens to a device happens to a rail.
      if (std::holds_alternative<fabric::NodeChange::Kind>(row.kind)) (void)names.nodes(subject);
      said.hosts = names.hosts(subject);
      return;
    case Subject::switches:
      said.switches = names.switches(subject);
      return;
    case Subject::workload:
      said.workload = read_workload_name(subject, scenario);
      if (said.workload.empty()) subject.wrong("name one workload");
      return;
    case Subject::pairs:
      read_partition(section, subject, names, said);
      return;
    case Subject::pairs_or_all:
      return read_heal(section, subject, names, scenario, said);
  }
}

// -- Keys -------------------------------------------------------------------------------------------------------------

void read_value(element_value::TimeOf into, const Value& value, const ElementRow&, ElementDetails& said) {
  said.*into.into = value.duration();
  if (into.is_positive && value.duration().ns == 0) value.wrong("write more than nothing");
}
void read_value(element_value::RateOf into, const Value& value, const ElementRow&, ElementDetails& said) {
  said.*into.into = value.rate();
}
void read_value(element_value::ClassesOf into, const Value& value, const ElementRow&, ElementDetails& said) {
  said.*into.into = 0;
  for (const Value& item : value.items())
    said.*into.into |= fabric::bit_of(static_cast<fabric::TrafficClass>(item.number(0, fabric::kTrafficClasses - 1)));
}
void read_value(element_value::NumberOf into, const Value& value, const ElementRow& row, ElementDetails& said) {
  said.*into.into = static_cast<std::uint32_t>(value.number(1, row.in_between ? kFlapsMax : kTimesMax));
}
void read_value(element_value::StatusOf into, const Value& value, const ElementRow&, ElementDetails& said) {
  said.*into.into = read_status(value);
}
void read_value(element_value::OneWay, const Value& value, const ElementRow&, ElementDetails& said) {
  said.is_one_way = value.yes_no();
}
/// read_partition() has.
void read_value(element_value::Peers, const Value&, const ElementRow&, ElementDetails&) {}

void read_keys(const Section& section, const ElementRow& row, ElementDetails& said) {
  for (const std::string_view name : row.keys) {
    const fabric::ElementKey& key = fabric::element_key(name);
    const auto value = key.example.empty() ? section.find(name) : section.need(name, key.example);
    if (value) std::visit([&](auto into) { read_value(into, *value, row, said); }, key.into);
  }
}

/// What ends by itself knows how long it lasts.
void read_length(const Section& section, const Trigger& trigger, ElementDetails& said) {
  if (!trigger.until && !trigger.lasting) complain(section.place(), "say how long: for: 1ms");
  said.down = trigger.lasting ? *trigger.lasting : *trigger.until - trigger.at;
}

/// All flaps are over before the scenario is, or it says more than can happen.
Flap flap_of(const Section& section, const Trigger& trigger, const ElementDetails& said, Change in_between,
             const Scenario& scenario) {
  const std::int64_t left_ns = (scenario.timeout - trigger.at).ns;
  const std::int64_t once_ns = said.down.ns + said.up.ns;
  if (once_ns > left_ns || static_cast<std::int64_t>(said.times) > left_ns / once_ns)
    complain(section.place(), "link-flap: down and up, " + std::to_string(said.times) +
                                  " times, take longer than the scenario's timeout");
  return {said.down, said.up, said.times, in_between};
}

/// What ends it: the same subject, at the end.
Fault end_of(const Fault& fault, const ElementDetails& said, const ElementRow& undo) {
  Trigger trigger;
  if (fault.trigger.condition) {
    trigger.condition = fault.trigger.condition;
    trigger.condition->after = trigger.condition->after + *fault.trigger.lasting;
  } else {
    trigger.at = *fault.trigger.until;
  }
  return {"end of " + fault.text, fault.place, trigger, fault_of(undo.kind, said)};
}

std::string subject_text(const Value& subject) {
  std::string text;
  for (const Value& item : subject.items()) text += (text.empty() ? "" : ", ") + item.word();
  return text;
}

}  // namespace

void read_element_fault(const Value& map, const ElementRow& row, const ElementNames& names, Scenario& scenario) {
  const std::string kind(row.word);
  const std::vector<std::string_view> keys = keys_of(row);
  const Section section(map, kind, keys);
  const Value subject = *section.find(kind);
  ElementDetails said;
  read_subject(section, row, subject, names, scenario, said);
  Fault fault;
  fault.text = kind + " " + subject_text(subject);
  fault.place = map.place();
  fault.trigger = read_trigger(section, "at", names, scenario);
  read_keys(section, row, said);
  if (row.ends_by_itself) read_length(section, fault.trigger, said);
  if (row.kind == fabric::FaultKind(Change::pause_storm)) {
    if (scenario.topology.medium == wire::Medium::infiniband)
      complain(map.place(), "pause-storm: InfiniBand has credits, and nobody pauses: write node-freeze: or link-rate:");
    if (!scenario.topology.qos)
      complain(map.place(), "pause-storm: this topology has no traffic classes, and nobody pauses: write qos: in it");
  }
  if (row.in_between) fault.flap = flap_of(section, fault.trigger, said, *row.in_between, scenario);
  const ElementRow* const undo = fabric::find_element(row.undo);
  const bool ends = undo != nullptr && (fault.trigger.until || fault.trigger.lasting);
  std::vector<ElementDetails> directions{said};
  if (!said.peers.empty() && !said.is_one_way) {  // partition, and heal unless it is all
    std::swap(said.hosts, said.peers);
    directions.push_back(said);
  }
  for (const ElementDetails& direction : directions) {
    Fault begin = fault;
    begin.trigger.until.reset();
    begin.trigger.lasting.reset();
    begin.what = fault_of(row.kind, direction);
    scenario.faults.push_back(begin);
    if (ends) scenario.faults.push_back(end_of(fault, direction, *undo));
  }
}

}  // namespace verbena::scenarios
