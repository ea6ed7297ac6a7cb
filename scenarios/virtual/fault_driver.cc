#include "scenarios/virtual/fault_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "emulator/fabric/short_forms.h"
#include "scenarios/outcome/element_step.h"

namespace verbena::scenarios {

FaultDriver::FaultDriver(sim::World& world, const Scenario& scenario, WorkloadSet& workloads, Journal& journal)
    : world_(world),
      scenario_(scenario),
      workloads_(workloads),
      journal_(journal),
      begin_(world.now()),
      active_(scenario.faults.size(), false),
      verb_rules_(scenario.faults.size()),
      completion_conditions_(workloads.size()) {
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) applied_.push_back({.index = i});
}

void FaultDriver::at(Time time, std::function<void(Time)> task) {
  ++scheduled_;
  world_.at(time, [this, task = std::move(task)](Time now) {
    --scheduled_;
    task(now);
  });
}

void FaultDriver::schedule() {
  std::set<std::size_t> listened;
  for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
    const Trigger& trigger = scenario_.faults[i].trigger;
    if (!trigger.condition) {
      if (trigger.at.ns == 0)
        begin(i, begin_);
      else
        at(begin_ + trigger.at, [this, i](Time now) { begin(i, now); });
      continue;
    }
    const Trigger::Condition& condition = *trigger.condition;
    const Waiting waiting{i, std::max<std::uint64_t>(condition.count, 1)};
    if (condition.kind == Trigger::Condition::Kind::completions) {
      const auto workload = workloads_.find(condition.subject);
      if (!workload) continue;
      completion_conditions_[*workload].push_back(waiting);
      if (listened.insert(*workload).second) workloads_.ledger(*workload).listen(*this);
    } else if (condition.kind == Trigger::Condition::Kind::hits) {
      hit_conditions_.push_back(i);
    } else {
      for (std::uint32_t cable = 0; cable < scenario_.topology.cables.size(); ++cable)
        if (scenario_.topology.cable_name(cable) == condition.subject) packet_conditions_[cable].push_back(waiting);
    }
  }
}

void FaultDriver::count_down(std::vector<Waiting>& waiting, Time now) {
  for (Waiting& entry : waiting) {
    if (entry.left == 0 || --entry.left > 0) continue;
    const std::size_t fault = entry.fault;
    at(now + scenario_.faults[fault].trigger.condition->after, [this, fault](Time then) { begin(fault, then); });
  }
}

void FaultDriver::completed(std::size_t workload, const CompletionRecord& record) {
  if (!record.is_receive && record.status == nic::CompletionStatus::success)
    count_down(completion_conditions_[workload], world_.now());
}

void FaultDriver::observe(const sim::ObservedFrame& frame) {
  if (!hit_conditions_.empty()) look_at_hits(std::max(frame.time, world_.now()));
  if (packet_conditions_.empty()) return;
  if (frame.event != sim::FrameEvent::sent && frame.event != sim::FrameEvent::lost) return;
  if (const auto waiting = packet_conditions_.find(frame.link.cable); waiting != packet_conditions_.end())
    count_down(waiting->second, std::max(frame.time, world_.now()));
}

std::uint64_t FaultDriver::hits(std::size_t fault) const {
  if (!active_[fault]) return applied_[fault].hits;
  const auto id = static_cast<std::uint32_t>(fault);
  if (std::holds_alternative<fabric::PacketRule>(scenario_.faults[fault].what)) return world_.hits(id);
  std::uint64_t sum = 0;
  for (const HostFaults* const faults : verb_rules_[fault]) sum += faults->hits(id);
  return sum;
}

void FaultDriver::look_at_hits(Time now) {
  std::erase_if(hit_conditions_, [&](std::size_t waiting) {
    const Trigger::Condition& condition = *scenario_.faults[waiting].trigger.condition;
    if (hits(condition.fault) < condition.count) return false;
    at(now + condition.after, [this, waiting](Time then) { begin(waiting, then); });
    return true;
  });
}

void FaultDriver::note(Time now, std::string_view text) {
  if (journal_.open()) journal_.line(now, fmt::format("FAULT {}", text));
}

void FaultDriver::begin(std::size_t number, Time now) {
  const Fault& fault = scenario_.faults[number];
  if (!applied_[number].time) applied_[number].time = now - begin_;
  note(now, fault.text);
  take_step(fault, 0, now);
  if (const auto* nodes = std::get_if<fabric::NodeChange>(&fault.what))
    for (const sim::HostId host : nodes->hosts) change_node(host, nodes->kind, now);
  if (const auto* software = std::get_if<fabric::SoftwareFault>(&fault.what)) change_software(*software, now);
  if (!add_rule(number, now)) return;
  active_[number] = true;
  if (fault.trigger.until) at(begin_ + *fault.trigger.until, [this, number](Time then) { end_rule(number, then); });
  if (fault.trigger.lasting) at(now + *fault.trigger.lasting, [this, number](Time then) { end_rule(number, then); });
}

/// False: the fault is no rule.
bool FaultDriver::add_rule(std::size_t number, Time now) {
  const fabric::Fault& what = scenario_.faults[number].what;
  const auto id = static_cast<std::uint32_t>(number);
  if (const auto* packets = std::get_if<fabric::PacketRule>(&what)) {
    world_.add_rule(id, packets->links, packets->rule);
    return true;
  }
  const auto verbs = fabric::host_verb_rule_of(what);
  if (!verbs) return false;
  verb_rules_[number] = faults_of(what, *verbs);
  for (HostFaults* const faults : verb_rules_[number]) faults->add(id, verbs->rule, now);
  for (const sim::HostId host : verbs->hosts) workloads_.agent(host).verbs().faults_changed();
  return true;
}

/// Where a rule for verbs is to be in force.
std::vector<HostFaults*> FaultDriver::faults_of(const fabric::Fault& what, const fabric::HostVerbRule& verbs) {
  std::vector<HostFaults*> all;
  for (const sim::HostId host : verbs.hosts) all.push_back(&workloads_.agent(host).verbs().faults());
  const auto* const software = std::get_if<fabric::SoftwareFault>(&what);
  if (software != nullptr && !software->workload.empty())
    if (const auto workload = workloads_.find(software->workload))
      all.push_back(&workloads_.ledger(*workload).faults());
  return all;
}

void FaultDriver::remove_rule(std::size_t number) {
  if (!active_[number]) return;
  applied_[number].hits = hits(number);
  active_[number] = false;
  const auto id = static_cast<std::uint32_t>(number);
  if (std::holds_alternative<fabric::PacketRule>(scenario_.faults[number].what)) world_.remove_rule(id);
  for (HostFaults* const faults : verb_rules_[number]) faults->remove(id, world_.now());
}

const std::vector<AppliedFault>& FaultDriver::applied() {
  for (std::size_t i = 0; i < applied_.size(); ++i) remove_rule(i);
  return applied_;
}

void FaultDriver::end_rule(std::size_t number, Time now) {
  note(now, "end of " + scenario_.faults[number].text);
  remove_rule(number);
}

/// What the fault does to the network: a step now, the next when its time comes.
void FaultDriver::take_step(const Fault& fault, std::uint32_t number, Time now) {
  const auto step = element_step(fault, number);
  if (!step) return;
  if (number % 2 == 1) note(now, "link up again");
  world_.change(step->change);
  if (const auto next = element_step(fault, number + 1))
    at(now + (next->after - step->after), [this, &fault, number](Time then) { take_step(fault, number + 1, then); });
}

void FaultDriver::change_node(sim::HostId host, fabric::NodeChange::Kind change, Time now) {
  using enum fabric::NodeChange::Kind;
  const bool runs = world_.is_running(host);
  switch (change) {
    case crash:
    case restart:
      if (runs) {
        workloads_.crash(host);
        world_.crash(host);
      }
      if (change == crash) return;
      world_.restart(host);
      return workloads_.restart(host, now);
    case freeze:
    case thaw:
      if (runs) world_.freeze(host, change == freeze);
      return;
  }
}

void FaultDriver::change_software(const fabric::SoftwareFault& fault, Time now) {
  using enum fabric::SoftwareFault::Kind;
  switch (fault.kind) {
    case device_removal:
      for (const sim::HostId host : fault.hosts) world_.remove_device(host);
      return;
    case rnr_storm:
      for (const sim::HostId host : fault.hosts) workloads_.agent(host).hold_receives(now + fault.lasts);
      return;
    case completion_status:
    case registration_failure:
    case post_failure:
      return;  // rules: add_rule()
  }
}

}  // namespace verbena::scenarios
