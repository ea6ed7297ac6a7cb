#include "scenarios/search/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "emulator/fabric/fault_plan.h"
#include "scenarios/language/element_names.h"
#include "scenarios/outcome/report_words.h"

namespace verbena::scenarios {
namespace {

/// Faults that come and go together: those of one item of the file (a partition's two directions, a beginning and its
/// end).
using Group = std::vector<Fault>;

std::vector<Group> groups_of(const std::vector<Fault>& faults) {
  std::vector<Group> groups;
  for (const Fault& fault : faults) {
    const bool same = !groups.empty() && fault.place.line != 0 &&
                      groups.back().front().place.line == fault.place.line &&
                      groups.back().front().place.column == fault.place.column;
    if (same)
      groups.back().push_back(fault);
    else
      groups.push_back({fault});
  }
  return groups;
}

class Search {
 public:
  Search(const Scenario& scenario, const ShrinkOptions& options) : scenario_(scenario), options_(options) {}

  bool stopped() const { return options_.stop != nullptr && options_.stop->look(); }
  bool exhausted() const { return attempts_ >= options_.attempts_max || stopped(); }
  std::uint32_t attempts() const { return attempts_; }
  Scenario with(const std::vector<Group>& groups) const {
    Scenario scenario = scenario_;
    scenario.faults.clear();
    for (const Group& group : groups) scenario.faults.insert(scenario.faults.end(), group.begin(), group.end());
    return scenario;
  }
  bool fails(const std::vector<Group>& groups) {
    if (exhausted()) return false;
    ++attempts_;
    return options_.fails(with(groups)) && !stopped();
  }

  /// ddmin: complements of ever smaller parts. Ends when no single group can be left out.
  std::vector<Group> minimise(std::vector<Group> groups) {
    if (groups.empty() || fails({})) return {};
    std::size_t parts = 2;
    while (groups.size() >= 2 && !exhausted()) {
      parts = std::min(parts, groups.size());
      bool reduced = false;
      for (std::size_t part = 0; part < parts && !reduced; ++part) {
        const std::size_t begin = groups.size() * part / parts;
        const std::size_t end = groups.size() * (part + 1) / parts;
        std::vector<Group> rest(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(begin));
        rest.insert(rest.end(), groups.begin() + static_cast<std::ptrdiff_t>(end), groups.end());
        if (rest.empty() || !fails(rest)) continue;
        groups = std::move(rest);
        parts = std::max<std::size_t>(parts - 1, 2);
        reduced = true;
      }
      if (reduced) continue;
      if (parts == groups.size()) break;
      parts = std::min(parts * 2, groups.size());
    }
    return groups;
  }

 private:
  const Scenario& scenario_;
  const ShrinkOptions& options_;
  std::uint32_t attempts_ = 0;
};

bool goes_by_chance(const Fault& fault) {
  const auto* packets = std::get_if<fabric::PacketRule>(&fault.what);
  if (packets == nullptr) return false;
  const fabric::FaultRule& rule = packets->rule;
  return rule.probability_ppb != fabric::kCertainPpb || rule.action == fabric::FaultAction::burst_loss ||
         rule.every != 1 || !rule.psns;
}

/// The rule's action with its own parameters, without its conditions.
std::string action_text(const fabric::FaultRule& rule) {
  if (rule.action == fabric::FaultAction::burst_loss) return "drop";
  std::istringstream words(rule.text);
  std::string text, word;
  while (words >> word) {
    static constexpr std::string_view kParameters[] = {"by=", "jitter=", "within=", "where=", "repair=", "to="};
    const bool keep = text.empty() || std::any_of(std::begin(kParameters), std::end(kParameters),
                                                  [&](std::string_view name) { return word.starts_with(name); });
    if (keep) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::optional<Fault> exact_fault(const Fault& original, const PacketHit& hit) {
  const auto& packets = std::get<fabric::PacketRule>(original.what);
  std::string text =
      fmt::format("{} qp={} psn={} iter={}", action_text(packets.rule), hit.flow, hit.psn, hit.iteration);
  if (!hit.opcode.empty()) text += " opcode=" + hit.opcode;
  auto rule = fabric::parse_fault(text);
  if (!rule) return std::nullopt;
  rule->text = text;
  return Fault{text, {}, {}, fabric::PacketRule{*rule, {hit.link}}};
}

/// The groups with one fault by chance replaced by the packets that it hit; nothing: they cannot all be named.
std::optional<std::vector<Group>> with_exact_packets(const std::vector<Group>& groups, std::size_t chosen,
                                                     const std::vector<PacketHit>& hits) {
  const Fault& fault = groups[chosen].front();
  std::size_t number = 0;  // among all faults
  for (std::size_t i = 0; i < chosen; ++i) number += groups[i].size();
  std::vector<Group> exact;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i != chosen) {
      exact.push_back(groups[i]);
      continue;
    }
    for (const PacketHit& hit : hits) {
      if (hit.fault != number) continue;
      const auto made = exact_fault(fault, hit);
      if (!made) return std::nullopt;
      exact.push_back({*made});
    }
  }
  return exact;
}

}  // namespace

Shrunk shrink(const Scenario& scenario, const ShrinkOptions& options) {
  Search search(scenario, options);
  std::vector<Group> groups = search.minimise(groups_of(scenario.faults));
  for (std::size_t i = 0; i < groups.size() && !search.exhausted(); ++i) {
    if (groups[i].size() != 1 || !goes_by_chance(groups[i].front())) continue;
    const auto hits = options.hits(search.with(groups));
    if (search.stopped()) break;
    const auto exact = with_exact_packets(groups, i, hits);
    if (!exact || !search.fails(*exact)) continue;
    groups = search.minimise(*exact);
    i = SIZE_MAX;  // from the start: numbers have changed; what is exact is left alone
  }
  return {search.with(groups), search.attempts(), !search.exhausted(), search.stopped()};
}

// -- As text ----------------------------------------------------------------------------------------------------------

namespace {

/// The list item that begins at a place: from there to the next line that is not indented more than its dash.
std::string item_at(std::string_view text, const Place& place) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (place.line == 0 || place.line > lines.size()) return {};
  const std::string_view first = lines[place.line - 1];
  const std::size_t dash = first.find_first_not_of(' ');
  if (dash == std::string_view::npos || first[dash] != '-') return {};
  std::string item(first.substr(dash));
  for (std::size_t i = place.line; i < lines.size(); ++i) {
    const std::size_t indent = lines[i].find_first_not_of(' ');
    if (indent == std::string_view::npos || indent <= dash || lines[i][indent] == '#') break;
    item += "\n  " + std::string(lines[i].substr(dash));
  }
  return item;
}

}  // namespace

std::string faults_yaml(const Scenario& scenario, std::string_view file_text) {
  std::string yaml = "faults:";
  const std::vector<Group> groups = groups_of(scenario.faults);
  if (groups.empty()) return yaml + " []\n";
  yaml += "\n";
  for (const Group& group : groups) {
    const Fault& fault = group.front();
    const std::string item = item_at(file_text, fault.place);
    const auto* packets = std::get_if<fabric::PacketRule>(&fault.what);
    if (!item.empty()) {
      yaml += "  " + item + "\n";
    } else if (packets != nullptr) {
      std::string links;
      for (const std::string& name : link_names(scenario.topology, packets->links))
        links += (links.empty() ? "\"" : ", \"") + name + "\"";
      yaml += fmt::format("  - {{packet: \"{}\", link: [{}]}}\n", packets->rule.text, links);
    } else {
      yaml += fmt::format("  # {}\n", fault.text);
    }
  }
  return yaml;
}

}  // namespace verbena::scenarios
