#include "scenarios/real/fault_schedule.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "emulator/fabric/element_rows.h"
#include "emulator/fabric/short_forms.h"
#include "scenarios/language/element_names.h"
#include "scenarios/outcome/element_step.h"
#include "scenarios/real/place_text.h"

namespace verbena::scenarios {

std::optional<std::string> FaultSchedule::refuse(const Scenario& scenario) {
  for (const Fault& fault : scenario.faults) {
    const std::string where = place_text(fault.place) + ": fault '" + fault.text + "' needs `clock: virtual`";
    if (const fabric::ElementRow* const row = fabric::row_of(fault.what); row != nullptr && row->needs_virtual_clock)
      return where + ": programs run on their own";
    const auto& condition = fault.trigger.condition;
    if (condition && condition->kind == Trigger::Condition::Kind::completions)
      return where + ": it waits for completions of a workload";
  }
  return std::nullopt;
}

std::vector<fabric::FaultRule> FaultSchedule::rules_of(const Scenario& scenario) {
  std::vector<fabric::FaultRule> rules;
  for (const Fault& fault : scenario.faults) {
    const auto* packets = std::get_if<fabric::PacketRule>(&fault.what);
    rules.push_back(packets != nullptr ? packets->rule : fabric::FaultRule{});
  }
  return rules;
}

FaultSchedule::FaultSchedule(const Scenario& scenario)
    : scenario_(scenario), applied_(scenario.faults.size()), numbers_(scenario.faults.size()) {
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    applied_[i].index = i;
    const Trigger& trigger = scenario.faults[i].trigger;
    if (trigger.condition)
      waiting_.push_back({i, *trigger.condition});
    else
      begin(i, trigger.at);
  }
}

void FaultSchedule::run(Duration elapsed, FaultTarget& target) {
  for (std::size_t i = waiting_.size(); i-- > 0;) {
    if (!is_met(waiting_[i].condition, target)) continue;
    const Waiting met = waiting_[i];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    begin(met.fault, elapsed + met.condition.after);
  }
  // One after the other in the order of time; a step may add others.
  for (;;) {
    const auto first = std::min_element(steps_.begin(), steps_.end(),
                                        [](const Step& one, const Step& other) { return one.at < other.at; });
    if (first == steps_.end() || first->at > elapsed) return;
    const Step step = std::move(*first);
    steps_.erase(first);
    step.take(target);
  }
}

bool FaultSchedule::is_met(const Trigger::Condition& condition, FaultTarget& target) const {
  if (condition.kind == Trigger::Condition::Kind::packets) return target.carried(condition.subject) >= condition.count;
  const auto number = numbers_[condition.fault];
  return (number ? target.hits(*number) : applied_[condition.fault].hits) >= condition.count;
}

std::optional<Duration> FaultSchedule::next(Duration elapsed) const {
  std::optional<Duration> next;
  if (!waiting_.empty()) next = elapsed + kConditionInterval;
  for (const Step& step : steps_)
    if (!next || step.at < *next) next = step.at;
  return next;
}

void FaultSchedule::at(Duration when, std::function<void(FaultTarget& target)> take) {
  steps_.push_back({when, std::move(take)});
}

void FaultSchedule::tell(Duration when, host::FabricRequest request) {
  at(when, [request = std::move(request)](FaultTarget& target) { target.tell_fabric(request); });
}

void FaultSchedule::begin(std::size_t fault, Duration when) {
  at(when, [this, fault, when](FaultTarget&) { applied_[fault].time = when; });
  if (const auto* packets = std::get_if<fabric::PacketRule>(&scenario_.faults[fault].what))
    begin_packets(fault, *packets, when);
  else if (const auto verbs = fabric::host_verb_rule_of(scenario_.faults[fault].what))
    begin_verbs(fault, *verbs, when);
  else
    begin_element(scenario_.faults[fault], when);
}

void FaultSchedule::begin_packets(std::size_t fault, const fabric::PacketRule& packets, Duration when) {
  host::AddPrepared request{static_cast<std::uint32_t>(fault), packets.links, {}};
  for (const std::string& name : link_names(scenario_.topology, packets.links))
    request.where += (request.where.empty() ? "" : ",") + name;
  begin_rule(fault, std::move(request), when);
}

/// The fabric process reads the rule as a user's.
void FaultSchedule::begin_verbs(std::size_t fault, const fabric::HostVerbRule& verbs, Duration when) {
  const fabric::Topology& topology = scenario_.topology;
  std::set<std::uint32_t> nodes;  // each once, whichever of its rails are named
  for (const std::uint32_t host : verbs.hosts) nodes.insert(topology.node_of(host));
  std::string names;
  for (const std::uint32_t node : nodes) names += (names.empty() ? "" : ",") + std::string(topology.node_name(node));
  begin_rule(fault, host::SayWords{{"add", names, verbs.rule.text}}, when);
}

void FaultSchedule::begin_rule(std::size_t fault, host::FabricRequest request, Duration when) {
  at(when, [this, fault, request = std::move(request)](FaultTarget& target) {
    const auto reply = target.tell_fabric(request);
    if (const auto* added = reply ? std::get_if<host::FaultAdded>(&*reply) : nullptr) numbers_[fault] = added->number;
  });
  const Trigger& trigger = scenario_.faults[fault].trigger;
  const std::optional<Duration> end = trigger.lasting ? std::optional(when + *trigger.lasting) : trigger.until;
  if (!end) return;
  at(*end, [this, fault](FaultTarget& target) {
    if (!numbers_[fault]) return;
    const auto reply = target.tell_fabric(host::RemoveFault{*numbers_[fault]});
    if (const auto* removed = reply ? std::get_if<host::FaultRemoved>(&*reply) : nullptr)
      applied_[fault].hits = removed->hits;
    numbers_[fault].reset();
  });
}

void FaultSchedule::begin_element(const Fault& fault, Duration when) {
  for (std::uint32_t number = 0;; ++number) {
    const auto step = element_step(fault, number);
    if (!step) break;
    tell(when + step->after, host::ChangeElements{step->change});
  }
  if (const auto* const nodes = std::get_if<fabric::NodeChange>(&fault.what))
    at(when, [&topology = scenario_.topology, nodes = *nodes](FaultTarget& target) {
      std::set<std::uint32_t> changed;  // each once, whichever of its rails are named
      for (const std::uint32_t host : nodes.hosts)
        if (const std::uint32_t node = topology.node_of(host); changed.insert(node).second)
          target.change_node(node, nodes.kind);
    });
  if (const auto* const software = std::get_if<fabric::SoftwareFault>(&fault.what)) begin_software(*software, when);
}

void FaultSchedule::begin_software(const fabric::SoftwareFault& fault, Duration when) {
  using enum fabric::SoftwareFault::Kind;
  switch (fault.kind) {
    case device_removal:
      return tell(when, host::RemoveDevices{fault.hosts});
    case rnr_storm:
    case completion_status:
    case registration_failure:
    case post_failure:
      return;  // refuse() has said so
  }
}

}  // namespace verbena::scenarios
