#include "scenarios/virtual/fabric_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/language/element_names.h"
#include "wire/counted.h"
#include "wire/pause_frame.h"

namespace verbena::scenarios {
namespace {

enum Rule : std::size_t { kPause, kLossless, kDeadlock };
constexpr std::array<std::string_view, kFabricChecks.size()> kClauses{"802.1Q 36", "802.1Q 36", "802.1Q 36"};
constexpr std::string_view kCreditsClause = "IBTA 7.9";
constexpr std::size_t kReported = 20;

std::string name_of(const Scenario& scenario, sim::LinkId link) {
  return link_name(scenario.topology, {link.cable, link.backward ? Way::backward : Way::forward});
}

/// A cable or a switch that dies takes pauses with it, a watchdog may do without them, a packet that is held to be
/// reordered has left its queue: it goes when others have overtaken it, whatever is paused by then; and a duplicate was
/// never in one: it goes behind its original.
bool may_judge_pauses(const Scenario& scenario) {
  using enum fabric::ElementChange::Kind;
  constexpr std::array kEndsPauses{link_down, switch_crash, port_error};
  if (!scenario.topology.qos->watchdog.drops || scenario.topology.medium != wire::Medium::ethernet) return false;
  return std::none_of(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& fault) {
    const auto* const change = std::get_if<fabric::ElementChange>(&fault.what);
    const auto* const packets = std::get_if<fabric::PacketRule>(&fault.what);
    if (packets != nullptr)
      return packets->rule.action == fabric::FaultAction::reorder ||
             packets->rule.action == fabric::FaultAction::duplicate;
    return change != nullptr && std::ranges::count(kEndsPauses, change->kind) != 0;
  });
}

}  // namespace

FabricChecks::FabricChecks(const Scenario& scenario, const fabric::Network& network, Time begin)
    : scenario_(scenario),
      network_(network),
      begin_(begin),
      judges_pauses_(may_judge_pauses(scenario)),
      pauses_(2 * scenario.topology.cables.size()) {}

void FabricChecks::report(Time time, std::size_t rule, std::string text) {
  ++reports_[rule];
  const bool has_credits = scenario_.topology.medium == wire::Medium::infiniband;
  const std::string_view clause = has_credits ? kCreditsClause : kClauses[rule];
  if (violations_.size() < kReported)
    violations_.push_back({time - begin_, std::string(kFabricChecks[rule]), std::string(clause), std::move(text)});
}

void FabricChecks::take_pause(const sim::ObservedFrame& frame) {
  const auto pause = wire::parse_pause_frame(frame.frame);
  if (!pause) return;
  Pauses& pauses = pauses_[2 * std::size_t{frame.link.cable} + (frame.link.backward ? 0 : 1)];
  const std::uint64_t rate =
      network_.link_statistics(frame.time, {frame.link.cable, !frame.link.backward}).rate_bits_per_second;
  for (std::size_t i = 0; i < fabric::kTrafficClasses; ++i) {
    if ((pause->classes >> i & 1) == 0) continue;
    const bool goes_on = frame.time < pauses.until[i];
    pauses.until[i] = frame.time + fabric::pause_time(pause->quanta[i], rate);
    if (!goes_on) pauses.from[i] = frame.time + scenario_.topology.qos->reaction;
  }
}

void FabricChecks::observe(const sim::ObservedFrame& frame) {
  const fabric::Qos& qos = *scenario_.topology.qos;
  if (frame.event == sim::FrameEvent::delivered && judges_pauses_) return take_pause(frame);
  if (frame.event == sim::FrameEvent::overflowed && !frame.comment.empty() && first_loss_.empty())
    first_loss_ = fmt::format("{}: {}", name_of(scenario_, frame.link), frame.comment);
  if (!judges_pauses_ || frame.event != sim::FrameEvent::sent || wire::parse_pause_frame(frame.frame)) return;
  const fabric::TrafficClass traffic_class = qos.class_of(frame.frame);
  const Pauses& pauses = pauses_[2 * std::size_t{frame.link.cable} + (frame.link.backward ? 1 : 0)];
  if (frame.time < pauses.from[traffic_class] || frame.time >= pauses.until[traffic_class]) return;
  report(frame.time, kPause,
         fmt::format("{}: a packet of class {} begins while the port is to pause it until {} ns",
                     name_of(scenario_, frame.link), traffic_class, (pauses.until[traffic_class] - begin_).ns));
}

void FabricChecks::finish(Time now, Outcome& outcome, CheckerReports& reports) {
  const fabric::NetworkStatistics& statistics = network_.statistics();
  const bool has_faults = std::any_of(outcome.faults.begin(), outcome.faults.end(),
                                      [](const AppliedFault& fault) { return fault.time.has_value(); });
  if (statistics.lossless_lost != 0 && !has_faults) {
    report(now, kLossless,
           fmt::format("{} of lossless classes {} lost; {}", wire::counted(statistics.lossless_lost, "packet"),
                       statistics.lossless_lost == 1 ? "was" : "were",
                       first_loss_.empty() ? "by the watchdog" : first_loss_));
    reports_[kLossless] = statistics.lossless_lost;
  }
  if (const auto deadlock = network_.pause_deadlock())
    report(deadlock->time, kDeadlock, deadlock->text(scenario_.topology));
  reports.ran = true;
  for (std::size_t rule = 0; rule < kFabricChecks.size(); ++rule) {
    reports.rows.push_back({std::string(kFabricChecks[rule]), reports_[rule]});
    outcome.violations_total += reports_[rule];
  }
  outcome.violations.insert(outcome.violations.begin(), violations_.begin(), violations_.end());
  if (!violations_.empty()) reports.first = violations_.front().text;
}

}  // namespace verbena::scenarios
