#include "scenarios/outcome/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/language/element_names.h"
#include "scenarios/outcome/lossless_note.h"
#include "scenarios/outcome/report_words.h"
#include "scenarios/outcome/shell_word.h"
#include "wire/counted.h"

namespace verbena::scenarios {
namespace {

using wire::counted;

constexpr std::size_t kNamesShown = 6;
constexpr std::size_t kLinesShown = 50;  // of each list

std::string shortened(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) text += fmt::format(", ... {} in all", names.size());
  return text;
}

/// Of a workload that is there on each rail: the nodes.
std::string side_text(const Scenario& scenario, const Workload& workload, const std::vector<std::uint32_t>& hosts) {
  const fabric::Topology& topology = scenario.topology;
  std::vector<std::string> names;
  for (const std::uint32_t host : hosts)
    names.emplace_back(workload.rails == 1 ? topology.vertices[host].name : topology.node_name(topology.node_of(host)));
  return shortened(names);
}

std::string sizes_text(const Workload& workload) {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (const SizeChoice& size : workload.sizes) {
    least = std::min(least, size.least);
    most = std::max(most, size.most);
  }
  if (workload.sizes.empty()) return "8 B";
  return least == most ? octets_text(most) : octets_text(least) + " to " + octets_text(most);
}

std::string workload_text(const Scenario& scenario, const Workload& workload) {
  std::string text =
      fmt::format("{}: {} of {} by {}, {}: {}", workload.name, name_of(workload.verb), sizes_text(workload),
                  name_of(workload.transport), name_of(workload.pattern), side_text(scenario, workload, workload.from));
  if (!workload.to.empty()) text += " to " + side_text(scenario, workload, workload.to);
  text += ", " + (workload.count != 0 ? counted(workload.count, workload.load_ppb != 0 ? "flow" : "message")
                                      : "for " + time_text(workload.duration));
  if (workload.load_ppb == 0) text += " a QP";
  if (workload.rails != 1) text += fmt::format(", on each of {}", counted(workload.rails, "rail"));
  if (workload.qps != 1) text += fmt::format(", {} a pair", counted(workload.qps, "QP"));
  if (workload.start.ns != 0) text += ", from " + time_text(workload.start);
  return text;
}

std::string program_text(const Scenario& scenario, const Program& program) {
  std::string text = program.name + ":";
  for (const std::string& argument : program.arguments) text += " " + shell_word(argument);
  text += program.nodes != 0 ? fmt::format(", ranks on the first {}", counted(program.nodes, "node"))
                             : ", on " + std::string(scenario.topology.node_name(program.node));
  if (!program.after.empty()) text += ", after " + shortened(program.after);
  if (program.start.ns != 0) text += ", from " + time_text(program.start);
  if (program.background) text += ", in the background";
  return text;
}

std::string condition_text(const Trigger::Condition& condition) {
  switch (condition.kind) {
    case Trigger::Condition::Kind::completions:
      return fmt::format("once {} has completed {}", condition.subject, counted(condition.count, "message"));
    case Trigger::Condition::Kind::packets:
      return fmt::format("once {} has carried {}", condition.subject, counted(condition.count, "packet"));
    case Trigger::Condition::Kind::hits:
      return fmt::format("once '{}' has hit {}", condition.subject, counted(condition.count, "packet"));
  }
  return "";
}

std::string trigger_text(const Trigger& trigger) {
  std::string text;
  if (const auto& condition = trigger.condition) {
    text = condition_text(*condition);
    if (condition->after.ns != 0) text = time_text(condition->after) + " after " + text;
  } else {
    text = trigger.at.ns == 0 ? "from the start" : "at " + time_text(trigger.at);
  }
  if (trigger.until) text += " until " + time_text(*trigger.until);
  if (trigger.lasting) text += " for " + time_text(*trigger.lasting);
  return text;
}

std::string fault_text(const Scenario& scenario, const Fault& fault) {
  std::string text = fault.text;
  if (const auto* packets = std::get_if<fabric::PacketRule>(&fault.what))
    text += " on " + shortened(link_names(scenario.topology, packets->links));
  if (const auto* verbs = std::get_if<fabric::HostVerbRule>(&fault.what)) {
    std::vector<std::string> names;
    for (const std::uint32_t host : verbs->hosts) names.push_back(scenario.topology.vertices[host].name);
    text += " on " + shortened(names);
  }
  return text + ": " + trigger_text(fault.trigger);
}

/// Each under its heading, the first of many.
template <class Each, class Text>
void add(std::string& text, std::string_view heading, const Each& all, Text&& text_of) {
  std::size_t shown = 0;
  for (const auto& one : all) {
    if (shown++ == kLinesShown) {
      text += fmt::format("{:10}... and {} more\n", heading, all.size() - kLinesShown);
      return;
    }
    text += fmt::format("{:10}{}\n", heading, text_of(one));
  }
}

}  // namespace

std::string plan_text(const Scenario& scenario) {
  const fabric::Topology& topology = scenario.topology;
  const bool is_real = scenario.clock == Clock::real_time;
  std::string text = fmt::format(
      "{}: {}{}, {}, {}; {} time, ends after {} at the latest, seed {}\n", scenario.name,
      counted(topology.nodes(), "node"), topology.rails == 1 ? "" : fmt::format(" of {} rails", topology.rails),
      counted(topology.switches(), "switch", "switches"), counted(topology.cables.size(), "cable"),
      is_real ? "real" : "virtual",
      time_text(is_real ? std::min(scenario.timeout, scenario.real_timeout) : scenario.timeout), scenario.seed);
  add(text, "workload", scenario.workloads, [&](const Workload& one) { return workload_text(scenario, one); });
  add(text, "program", scenario.programs, [&](const Program& one) { return program_text(scenario, one); });
  add(text, "fault", scenario.faults, [&](const Fault& one) { return fault_text(scenario, one); });
  add(text, "expect", scenario.expectations, [](const Expectation& one) { return one.text; });
  if (const auto note = lossless_note(scenario)) text += "note      " + *note + "\n";
  return text;
}

}  // namespace verbena::scenarios
