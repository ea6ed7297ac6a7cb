#include "scenarios/virtual/fault_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "scenarios/outcome/element_step.h"

namespace verbena::scenarios {

FaultDriver::FaultDriver(sim::World& world, const Scenario& scenario, WorkloadSet& workloads, Journal& journal)
    : world_(world),
      scenario_(scenario),
      workloads_(workloads),
      journal_(journal),
      begin_(world.now()),
      active_(scenario.faults.size(), false),
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
  return active_[fault] ? world_.hits(static_cast<std::uint32_t>(fault)) : applied_[fault].hits;
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
  const auto* packets = std::get_if<fabric::PacketRule>(&fault.what);
  if (packets == nullptr) return;
  active_[number] = true;
  world_.add_rule(static_cast<std::uint32_t>(number), packets->links, packets->rule);
  if (fault.trigger.until)
    at(begin_ + *fault.trigger.until, [this, number](Time then) { end_packet_fault(number, then); });
  if (fault.trigger.lasting)
    at(now + *fault.trigger.lasting, [this, number](Time then) { end_packet_fault(number, then); });
}

void FaultDriver::remove_rule(std::size_t number) {
  if (!active_[number]) return;
  active_[number] = false;
  applied_[number].hits = world_.remove_rule(static_cast<std::uint32_t>(number));
}

const std::vector<AppliedFault>& FaultDriver::applied() {
  for (std::size_t i = 0; i < applied_.size(); ++i) remove_rule(i);
  return applied_;
}

void FaultDriver::end_packet_fault(std::size_t number, Time now) {
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
      if (const auto workload = workloads_.find(fault.workload))
        workloads_.ledger(*workload).rewrite(static_cast<nic::CompletionStatus>(fault.status), fault.times);
      return;
    case registration_failure:
      for (const sim::HostId host : fault.hosts) workloads_.agent(host).fail_registrations(fault.times);
      return;
    case post_failure:
      for (const sim::HostId host : fault.hosts) workloads_.agent(host).fail_posts(fault.times);
      return;
  }
}

}  // namespace verbena::scenarios
