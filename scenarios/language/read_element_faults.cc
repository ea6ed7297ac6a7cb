// Faults of a scenario that happen to links, switches, nodes and verbs, each with the key that says what happens.
// Tested by: tests/scenarios/language/read_faults_test.cc
#include <algorithm>
#include <utility>

#include "scenarios/language/fault_words.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

using Kind = ElementFault::Kind;
using Subject = ElementFaultWord::Subject;

constexpr std::uint64_t kTimesMax = 1'000'000;
/// Longer flaps would make a trace of nothing else.
constexpr std::uint64_t kFlapsMax = 100'000;

constexpr std::string_view kPartitionIsRight =
    "name the nodes of one side, and those of the other as peers (all others if not said): "
    "{partition: [n1, n2], peers: [n3, n4]}";

void read_partition(const Section& section, const Value& subject, const ElementNames& names, ElementFault& fault) {
  const auto one_side = [&](const Value& side) {
    const std::vector<Value> members = side.is_list() ? side.items() : std::vector<Value>{side};
    const bool has_words = std::all_of(members.begin(), members.end(), [](const Value& one) { return one.is_word(); });
    if (!has_words) side.wrong(std::string(kPartitionIsRight));
  };
  one_side(subject);
  if (const auto peers = section.find("peers")) one_side(*peers);
  fault.hosts = names.hosts(subject);
  if (const auto peers = section.find("peers")) {
    fault.peers = names.hosts(*peers);
  } else {
    for (std::uint32_t i = 0; i < names.topology().hosts; ++i)
      if (std::find(fault.hosts.begin(), fault.hosts.end(), i) == fault.hosts.end()) fault.peers.push_back(i);
  }
  if (fault.peers.empty()) subject.wrong("nobody is left on the other side: " + std::string(kPartitionIsRight));
  for (const std::uint32_t host : fault.hosts)
    if (std::find(fault.peers.begin(), fault.peers.end(), host) != fault.peers.end())
      subject.wrong(names.topology().vertices[host].name + " is on both sides");
}

/// `all`, or the words of the partition that it ends.
void read_heal(const Section& section, const Value& subject, const ElementNames& names, const Scenario& scenario,
               ElementFault& fault) {
  if (subject.is_word() && subject.word() == "all") {
    for (const std::string_view key : {"peers", "one-way"})
      if (const auto value = section.find(key)) value->wrong("heal: all ends every partition");
    return;
  }
  read_partition(section, subject, names, fault);
  const bool is_known = std::any_of(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& earlier) {
    const auto* element = std::get_if<ElementFault>(&earlier.what);
    return element != nullptr && element->kind == Kind::partition && element->hosts == fault.hosts &&
           element->peers == fault.peers;
  });
  if (!is_known) subject.wrong("no partition above is between these; name one as it is written there, or all");
}

void read_subject(const Section& section, const ElementFaultWord& word, const Value& subject, const ElementNames& names,
                  const Scenario& scenario, ElementFault& fault) {
  switch (word.subject) {
    case Subject::links:
      fault.links = names.cables(subject);
      return;
    case Subject::hosts:
      fault.hosts = names.hosts(subject);
      return;
    case Subject::switches:
      fault.switches = names.switches(subject);
      return;
    case Subject::workload:
      fault.workload = read_workload_name(subject, scenario);
      if (fault.workload.empty()) subject.wrong("name one workload");
      return;
    case Subject::partition:
      read_partition(section, subject, names, fault);
      return;
    case Subject::heal:
      return read_heal(section, subject, names, scenario, fault);
  }
}

void read_classes(const Value& value, ElementFault& fault) {
  fault.classes = 0;
  for (const Value& item : value.items())
    fault.classes |= fabric::bit_of(static_cast<fabric::TrafficClass>(item.number(0, fabric::kTrafficClasses - 1)));
}

void read_times(const Value& value, ElementFault& fault) {
  const std::uint64_t most = fault.kind == Kind::link_flap ? kFlapsMax : kTimesMax;
  fault.times = static_cast<std::uint32_t>(value.number(1, most));
}

/// How a key is read that some kinds have; `example` of one that must be there.
struct KeyReader {
  std::string_view key;
  std::string_view example;
  void (*read)(const Value& value, ElementFault& into);
};
constexpr KeyReader kKeyReaders[] = {
    {"down", "1ms", [](const Value& value, ElementFault& into) { into.down = value.duration(); }},
    {"up", "1ms", [](const Value& value, ElementFault& into) { into.up = value.duration(); }},
    {"rate", "1Gbps", [](const Value& value, ElementFault& into) { into.rate_bits_per_second = value.rate(); }},
    {"delay", "10us", [](const Value& value, ElementFault& into) { into.delay = value.duration(); }},
    {"jitter", "", [](const Value& value, ElementFault& into) { into.jitter = value.duration(); }},
    {"class", "", read_classes},
    {"status", "remote_access_error", [](const Value& value, ElementFault& into) { into.status = read_status(value); }},
    {"times", "", read_times},
};

void read_keys(const Section& section, const ElementFaultWord& word, ElementFault& fault) {
  const auto has = [&word](std::string_view key) { return std::ranges::find(word.keys, key) != word.keys.end(); };
  for (const KeyReader& reader : kKeyReaders) {
    if (!has(reader.key)) continue;
    if (!reader.example.empty())
      reader.read(section.need(reader.key, reader.example), fault);
    else if (const auto value = section.find(reader.key))
      reader.read(*value, fault);
    if (reader.key == "up")
      for (const auto& [key, time] : {std::pair("down", fault.down), std::pair("up", fault.up)})
        if (time.ns == 0) section.find(key)->wrong("write more than nothing");
  }
}

/// What lasts and has no end of its own knows how long.
void read_length(const Section& section, const Trigger& trigger, ElementFault& fault) {
  if (!trigger.until && !trigger.lasting) complain(section.place(), "say how long: for: 1ms");
  fault.down = trigger.lasting ? *trigger.lasting : *trigger.until - trigger.at;
}

/// All flaps are over before the scenario is, or it says more than can happen.
void check_flaps(const Section& section, const Trigger& trigger, const ElementFault& fault, const Scenario& scenario) {
  const std::int64_t left_ns = (scenario.timeout - trigger.at).ns;
  const std::int64_t once_ns = fault.down.ns + fault.up.ns;
  if (once_ns > left_ns || static_cast<std::int64_t>(fault.times) > left_ns / once_ns)
    complain(section.place(), "link-flap: down and up, " + std::to_string(fault.times) +
                                  " times, take longer than the scenario's timeout");
}

/// What ends it: the same subject, at the end.
Fault end_of(const Fault& fault, const ElementFault& element, Kind end_kind) {
  ElementFault end = element;
  end.kind = end_kind;
  Trigger trigger;
  if (fault.trigger.condition) {
    trigger.condition = fault.trigger.condition;
    trigger.condition->after = trigger.condition->after + *fault.trigger.lasting;
  } else {
    trigger.at = *fault.trigger.until;
  }
  return {"end of " + fault.text, fault.place, trigger, end};
}

std::string subject_text(const Value& subject) {
  std::string text;
  for (const Value& item : subject.items()) text += (text.empty() ? "" : ", ") + item.word();
  return text;
}

}  // namespace

void read_element_fault(const Value& map, const ElementFaultWord& word, const ElementNames& names, Scenario& scenario) {
  const std::string kind(word.key);
  const std::vector<std::string_view> keys = keys_of(word);
  const Section section(map, kind, keys);
  const Value subject = *section.find(kind);
  ElementFault element;
  element.kind = word.kind;
  read_subject(section, word, subject, names, scenario, element);
  Fault fault;
  fault.text = kind + " " + subject_text(subject);
  fault.place = map.place();
  fault.trigger = read_trigger(section, "at", names, scenario);
  read_keys(section, word, element);
  if (word.lasts && !word.end) read_length(section, fault.trigger, element);
  if (element.kind == Kind::pause_storm && !scenario.topology.qos)
    complain(map.place(), "pause-storm: this topology has no traffic classes, and nobody pauses: write qos: in it");
  if (element.kind == Kind::link_flap) check_flaps(section, fault.trigger, element, scenario);
  const bool is_between = !element.peers.empty();  // partition, and heal unless it is all
  const bool one_way = is_between && section.has("one-way") && section.find("one-way")->yes_no();
  const bool ends = fault.trigger.until || fault.trigger.lasting;
  std::vector<ElementFault> directions{element};
  if (is_between && !one_way) {
    std::swap(element.hosts, element.peers);
    directions.push_back(element);
  }
  for (const ElementFault& direction : directions) {
    Fault begin = fault;
    begin.trigger.until.reset();
    begin.trigger.lasting.reset();
    begin.what = direction;
    scenario.faults.push_back(begin);
    if (ends && word.end) scenario.faults.push_back(end_of(fault, direction, *word.end));
  }
}

}  // namespace verbena::scenarios
