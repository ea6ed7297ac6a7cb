#include "scenarios/real/fault_schedule.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "scenarios/language/fault_words.h"
#include "scenarios/language/names.h"
#include "scenarios/real/place_text.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint32_t kFlapsMax = 100'000;

using Kind = ElementFault::Kind;

std::string time_word(Duration time) {
  return std::to_string(time.ns) + "ns";
}

}  // namespace

std::optional<std::string> FaultSchedule::refuse(const Scenario& scenario) {
  for (const Fault& fault : scenario.faults) {
    const std::string where = place_text(fault.place) + ": fault '" + fault.text + "' needs `clock: virtual`";
    if (const auto* element = std::get_if<ElementFault>(&fault.what);
        element && element_fault_word(element->kind).needs_virtual_clock)
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
    const auto* packets = std::get_if<PacketFault>(&fault.what);
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
    if (target.carried(waiting_[i].condition.subject) < waiting_[i].condition.count) continue;
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

void FaultSchedule::tell(Duration when, std::vector<std::string> words) {
  at(when, [words = std::move(words)](FaultTarget& target) { target.tell_fabric(words); });
}

void FaultSchedule::change(Duration when, const ElementFault& element, FaultTarget::NodeChange change) {
  at(when, [hosts = element.hosts, change](FaultTarget& target) {
    for (const std::uint32_t host : hosts) target.change_node(host, change);
  });
}

std::string FaultSchedule::names(const std::vector<std::uint32_t>& vertices) const {
  std::string text;
  for (const std::uint32_t vertex : vertices)
    text += (text.empty() ? "" : ",") + scenario_.topology.vertices[vertex].name;
  return text;
}

void FaultSchedule::begin(std::size_t fault, Duration when) {
  at(when, [this, fault, when](FaultTarget&) { applied_[fault].time = when; });
  if (const auto* packets = std::get_if<PacketFault>(&scenario_.faults[fault].what))
    begin_packets(fault, *packets, when);
  else
    begin_element(std::get<ElementFault>(scenario_.faults[fault].what), when);
}

void FaultSchedule::begin_packets(std::size_t fault, const PacketFault& packets, Duration when) {
  std::vector<std::string> words{"prepared", std::to_string(fault)};
  for (const LinkChoice& link : packets.links) words.push_back(link_name(scenario_.topology, link));
  at(when, [this, fault, words](FaultTarget& target) {
    if (const auto number = target.tell_fabric(words))
      numbers_[fault] = static_cast<std::uint32_t>(std::stoul(*number));
  });
  const Trigger& trigger = scenario_.faults[fault].trigger;
  const std::optional<Duration> end = trigger.lasting ? std::optional(when + *trigger.lasting) : trigger.until;
  if (!end) return;
  at(*end, [this, fault](FaultTarget& target) {
    if (!numbers_[fault]) return;
    if (const auto hits = target.tell_fabric({"remove", std::to_string(*numbers_[fault])}))
      applied_[fault].hits = std::stoull(*hits);
    numbers_[fault].reset();
  });
}

void FaultSchedule::begin_element(const ElementFault& element, Duration when) {
  const auto tell_links = [&](Duration time, const std::string& word, const std::vector<std::string>& values) {
    for (const LinkChoice& link : element.links) {
      std::vector<std::string> words{word, link_name(scenario_.topology, link)};
      words.insert(words.end(), values.begin(), values.end());
      tell(time, std::move(words));
    }
  };
  switch (element.kind) {
    case Kind::link_down:
      return tell_links(when, "link-down", {});
    case Kind::link_up:
      return tell_links(when, "link-up", {});
    case Kind::link_flap:
      for (std::uint32_t i = 0; i < std::min(element.times, kFlapsMax); ++i) {
        const Duration start = when + (element.down + element.up) * static_cast<std::int64_t>(i);
        tell_links(start, "link-down", {});
        tell_links(start + element.down, "link-up", {});
      }
      return;
    case Kind::link_rate:
      return tell_links(when, "link-rate", {std::to_string(element.rate_bits_per_second) + "bps"});
    case Kind::link_delay:
      return tell_links(when, "link-delay", {time_word(element.delay), time_word(element.jitter)});
    case Kind::partition:
      return tell(when, {"partition", names(element.hosts), names(element.peers), "one-way"});
    case Kind::heal:
      return tell(when, {"heal"});
    case Kind::switch_crash:
      return tell(when, {"switch-crash", names(element.switches)});
    case Kind::switch_restart:
      return tell(when, {"switch-restart", names(element.switches)});
    case Kind::node_crash:
      return change(when, element, FaultTarget::NodeChange::crash);
    case Kind::node_freeze:
      return change(when, element, FaultTarget::NodeChange::freeze);
    case Kind::node_thaw:
      return change(when, element, FaultTarget::NodeChange::thaw);
    case Kind::node_restart:
      return change(when, element, FaultTarget::NodeChange::restart);
    case Kind::device_removal:
      return tell(when, {"device-removal", names(element.hosts)});
    case Kind::port_error:
      return tell(when, {"port-error", names(element.hosts)});
    case Kind::port_active:
      return tell(when, {"port-active", names(element.hosts)});
    case Kind::rnr_storm:
    case Kind::completion_status:
    case Kind::registration_failure:
    case Kind::post_failure:
      return;  // refuse() has said so
  }
}

}  // namespace verbena::scenarios
