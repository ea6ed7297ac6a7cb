#include "cli/exhaust/scenario_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/verb_rule.h"
#include "scenarios/search/sweep.h"

namespace verbena::cli::exhaust {
namespace {

/// What stands between the names of two rows in that of a pair.
constexpr std::string_view kAnd = " and ";

}  // namespace

ScenarioRows::ScenarioRows(const scenarios::Scenario& scenario) : scenario_(scenario) {
  const fabric::Topology& topology = scenario.topology;
  for (std::uint32_t host = 0; host < topology.hosts; ++host)
    for (const Subject& subject : subjects_of_software()) {
      placed_.push_back({subject, {host}, {}});
      placed_.back().subject.name = topology.vertices[host].name + " " + subject.name;
    }
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable)
    for (const auto way : {scenarios::Way::forward, scenarios::Way::backward}) {
      const std::string& a = topology.vertices[topology.cables[cable].a].name;
      const std::string& b = topology.vertices[topology.cables[cable].b].name;
      const std::string place = way == scenarios::Way::forward ? a + "->" + b : b + "->" + a;
      for (const Subject& subject : subjects_of_cables()) {
        placed_.push_back({subject, {}, scenarios::links_of(scenarios::LinkChoice{cable, way})});
        placed_.back().subject.name = place + " " + subject.name;
      }
    }
  for (std::size_t i = 0; i < placed_.size(); ++i) by_name_.emplace(placed_[i].subject.name, i);
}

scenarios::Fault ScenarioRows::fault_of(const Placed& placed, const std::string& rule) const {
  scenarios::Fault fault{.text = placed.subject.name + ": " + rule, .place = {}, .trigger = {}, .what = {}};
  if (placed.links.empty())
    fault.what = fabric::HostVerbRule{*fabric::parse_verb_rule(rule), placed.hosts};
  else
    fault.what = fabric::PacketRule{*fabric::parse_fault(rule), placed.links};
  return fault;
}

scenarios::Scenario ScenarioRows::counting() const {
  scenarios::Scenario scenario = scenario_;
  for (const Placed& placed : placed_) scenario.faults.push_back(fault_of(placed, placed.subject.count_rule));
  return scenario;
}

std::vector<std::uint64_t> ScenarioRows::counts_in(const scenarios::Outcome& outcome) const {
  std::vector<std::uint64_t> counts(placed_.size());
  for (const scenarios::AppliedFault& applied : outcome.faults)
    if (applied.index >= scenario_.faults.size()) counts[applied.index - scenario_.faults.size()] = applied.hits;
  return counts;
}

std::vector<Subject> ScenarioRows::subjects() const {
  std::vector<Subject> all;
  for (const Placed& placed : placed_) all.push_back(placed.subject);
  return all;
}

scenarios::Scenario ScenarioRows::with(const Row& row) const {
  scenarios::Scenario scenario = scenario_;
  std::string rest = row.subject;
  for (const std::string& rule : row.rules) {
    const std::size_t end = rest.find(kAnd);
    scenario.faults.push_back(fault_of(placed_[by_name_.at(rest.substr(0, end))], rule));
    rest.erase(0, end == rest.npos ? end : end + kAnd.size());
  }
  return scenario;
}

Verdict ScenarioRows::judge(const Row& row, const scenarios::Outcome& outcome) const {
  std::size_t hit = 0;
  for (const scenarios::AppliedFault& applied : outcome.faults)
    if (applied.index >= scenario_.faults.size() && applied.hits != 0) ++hit;
  const bool is_damaged = std::ranges::any_of(outcome.workloads, [](const auto& one) { return one.damaged != 0; });
  const std::string why = scenarios::failure_text(outcome);
  if (is_damaged || outcome.violations_total != 0) return {Outcome::wrong_data, why, ""};
  if (outcome.end == scenarios::Outcome::End::timed_out) return {Outcome::hung, why, ""};
  if (hit < row.rules.size()) return {Outcome::not_hit, "the fault did not hit", ""};
  if (!outcome.held()) return {Outcome::own_error, why, ""};
  return {};
}

}  // namespace verbena::cli::exhaust
