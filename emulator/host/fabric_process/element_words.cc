#include "emulator/host/fabric_process/element_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "emulator/fabric/rails.h"

namespace verbena::host {
namespace {

using fabric::ElementChange;
using fabric::ElementDetails;
using fabric::ElementKey;
using fabric::ElementRow;
using fabric::LinkId;
using fabric::Topology;
using Subject = ElementRow::Subject;
namespace element_value = fabric::element_value;
using Parsed = Result<std::vector<fabric::Fault>, std::string>;
using Error = std::optional<std::string>;  // nothing: fine

constexpr std::size_t kNamesSuggestedFrom = 2000;
constexpr const char* kNoClasses = "this fabric has no traffic classes, and nobody pauses: serve it with --qos";
constexpr const char* kNoPauses =
    "InfiniBand has credits, and nobody pauses: freeze the node (node-freeze NODE), or slow its link (link-rate)";
constexpr std::uint64_t kRateMax = 100'000'000'000'000;

std::string no_rate(const std::string& text) {
  return "'" + text + "' is no rate: write 10Gbps or 100Mbps, or 0 for frames that take no time";
}

std::string no_time(const std::string& text) {
  return "'" + text + "' is no time: write at most 60s, such as 500ns, 10us or 2ms";
}

std::vector<std::string> split(const std::string& word) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= word.size();) {
    const std::size_t end = std::min(word.find(',', from), word.size());
    names.push_back(word.substr(from, end - from));
    from = end + 1;
  }
  return names;
}

/// For the first of the names that is not one of a host, or else of a switch. None for who has mixed these up.
std::string vertex_meant(const Topology& topology, const std::string& names, bool hosts) {
  std::vector<std::string_view> known;
  for (std::uint32_t i = 0; i < topology.vertices.size() && known.size() < kNamesSuggestedFrom; ++i)
    if (topology.is_host(i) == hosts) known.push_back(topology.vertices[i].name);
  for (const std::string& name : split(names)) {
    if (const auto found = fabric::vertices_named(topology, name);
        !found.empty() && topology.is_host(found[0]) == hosts)
      continue;
    if (std::string rails = fabric::rails_meant(topology, name); hosts && !rails.empty()) return rails;
    const bool is_other = std::ranges::count(topology.vertices, name, &fabric::Vertex::name) != 0;
    return is_other ? std::string() : fabric::did_you_mean(name, known);
  }
  return {};
}

/// What somebody who wrote this name, which has these ends, may have meant.
std::string link_meant(const Topology& topology, const std::string& name,
                       const std::optional<fabric::CableEnds>& ends) {
  std::vector<std::string> names;
  for (const auto& group : fabric::kLinkGroups) names.emplace_back(group.name);
  if (!ends)
    for (std::uint32_t i = 0; i < topology.vertices.size() && names.size() < kNamesSuggestedFrom; ++i)
      names.push_back(topology.vertices[i].name);
  const bool is_one_way = ends && ends->is_one_way;
  for (std::uint32_t i = 0; ends && i < topology.cables.size() && names.size() < kNamesSuggestedFrom; ++i) {
    names.push_back(is_one_way ? link_name(topology, {i, false}) : topology.cable_name(i));
    if (is_one_way) names.push_back(link_name(topology, {i, true}));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fabric::did_you_mean(name, known);
}

std::string no_link(const Topology& topology, const std::string& name) {
  const auto ends = fabric::cable_ends(name);
  const std::array<std::string_view, 2> said{ends ? ends->from : name, ends ? ends->to : name};
  for (const std::string_view end : said)
    if (std::string rails = fabric::rails_meant(topology, end);
        !rails.empty() && fabric::vertices_named(topology, end).empty())
      return "there is no link '" + name + "'" + rails;
  if (fabric::link_group(name)) return "this fabric has no " + name;
  const std::string there_is_none =
      ends ? "there is no link '" + name + "'"
           : "there is no node, switch or link '" + name + "': write n1, n1-s1, n1->s1, hosts, trunks or all";
  return there_is_none + " (verbena stat lists them)" + link_meant(topology, name, ends);
}

// -- The words behind the name ----------------------------------------------------------------------------------------

Error take_hosts(const Topology& topology, const std::string& word, std::vector<std::uint32_t>& into) {
  auto hosts = find_vertices(topology, word, true);
  if (!hosts) return not_a_node(topology, word);
  into = std::move(*hosts);
  return std::nullopt;
}

Error take_subject(const Topology& topology, Subject subject, const std::string& word, ElementDetails& into) {
  switch (subject) {
    case Subject::links: {
      auto links = find_links(topology, word, fabric::FaultDirection::both);
      if (!links) return links.error();
      into.links = std::move(*links);
      return std::nullopt;
    }
    case Subject::switches: {
      auto switches = find_vertices(topology, word, false);
      if (!switches)
        return "'" + word + "' is not a switch of this fabric, nor several with commas" +
               vertex_meant(topology, word, false);
      into.switches = std::move(*switches);
      return std::nullopt;
    }
    case Subject::hosts:
    case Subject::pairs:
    case Subject::pairs_or_all:
      return take_hosts(topology, word, into.hosts);
    case Subject::workload:
      return "a running fabric knows no workloads";
  }
  return std::nullopt;
}

/// How the usage shows what is named behind the word.
std::string_view usage_of(Subject subject) {
  switch (subject) {
    case Subject::links:
      return "LINK";
    case Subject::switches:
      return "SWITCH,...";
    case Subject::hosts:
    case Subject::pairs:
    case Subject::pairs_or_all:
      return "NODE,...";
    case Subject::workload:
      return "WORKLOAD";
  }
  return {};
}

Error take(element_value::RateOf value, const Topology&, const std::string& word, ElementDetails& into) {
  const auto rate = parse_rate(word);
  if (!rate) return no_rate(word);
  into.*value.into = *rate;
  return std::nullopt;
}
Error take(element_value::TimeOf value, const Topology&, const std::string& word, ElementDetails& into) {
  const auto time = parse_time_span(word);
  if (!time) return no_time(word);
  into.*value.into = *time;
  return std::nullopt;
}
Error take(element_value::ClassesOf value, const Topology&, const std::string& word, ElementDetails& into) {
  into.*value.into = 0;
  for (const std::string& name : split(word)) {
    const auto number = fabric::parse_number(name);
    if (!number || *number >= fabric::kTrafficClasses)
      return "'" + word + "' is not a traffic class from 0 to 7, nor several with commas";
    into.*value.into |= fabric::bit_of(static_cast<fabric::TrafficClass>(*number));
  }
  return std::nullopt;
}
Error take(element_value::Peers, const Topology& topology, const std::string& word, ElementDetails& into) {
  return take_hosts(topology, word, into.peers);
}
Error take(element_value::OneWay, const Topology&, const std::string& word, ElementDetails& into) {
  if (word != "one-way") return "unknown word '" + word + "': one-way is right";
  into.is_one_way = true;
  return std::nullopt;
}
/// Keys with such a value have no place behind a word.
Error take(element_value::NumberOf, const Topology&, const std::string& word, ElementDetails&) {
  return "unknown word '" + word + "'";
}
Error take(element_value::StatusOf, const Topology&, const std::string& word, ElementDetails&) {
  return "unknown word '" + word + "'";
}

/// Those of a row's keys that have a place behind the word, in their order.
std::vector<const ElementKey*> keys_with_place(const ElementRow& row) {
  std::vector<const ElementKey*> keys;
  for (const std::string_view name : row.keys)
    if (const ElementKey& key = fabric::element_key(name); !key.usage.empty()) keys.push_back(&key);
  return keys;
}

bool is_optional(const ElementKey* key) {
  return key->usage.starts_with('[');
}

bool has_classes(const ElementRow& row) {
  return std::ranges::any_of(row.keys, [](std::string_view name) {
    return std::holds_alternative<element_value::ClassesOf>(fabric::element_key(name).into);
  });
}

Error why_no_pauses(const Topology& topology) {
  if (topology.medium == wire::Medium::infiniband) return kNoPauses;
  return topology.qos ? std::nullopt : Error(kNoClasses);
}

// -- A change that nobody spelled -------------------------------------------------------------------------------------

Error what_is_wrong(element_value::RateOf value, const Topology&, const ElementDetails& said) {
  const std::uint64_t rate = said.*value.into;
  return rate > kRateMax ? Error(no_rate(std::to_string(rate) + "bps")) : std::nullopt;
}
Error what_is_wrong(element_value::TimeOf value, const Topology&, const ElementDetails& said) {
  const Duration time = said.*value.into;
  const bool fits = time >= Duration{0} && time <= fabric::kFaultTimeMax;
  return fits ? std::nullopt : Error(no_time(std::to_string(time.ns) + "ns"));
}
Error what_is_wrong(element_value::ClassesOf, const Topology& topology, const ElementDetails&) {
  return why_no_pauses(topology);
}
template <class Value>
Error what_is_wrong(Value, const Topology&, const ElementDetails&) {
  return std::nullopt;
}

}  // namespace

std::string usage_of(const ElementRow& row) {
  std::string behind(usage_of(row.subject));
  for (const ElementKey* const key : keys_with_place(row)) behind += " " + std::string(key->usage);
  if (row.subject == Subject::pairs_or_all) behind = "[" + behind + "]";
  return std::string(row.word) + " " + behind;
}

std::string not_a_node(const Topology& topology, const std::string& names) {
  return "'" + names + "' is not a node of this fabric, nor several with commas" + vertex_meant(topology, names, true);
}

Parsed parse_element(const Topology& topology, const ElementRow& row, const FabricWords& words) {
  const std::vector<const ElementKey*> keys = keys_with_place(row);
  const std::size_t most = 2 + keys.size();
  const std::size_t least = most - static_cast<std::size_t>(std::ranges::count_if(keys, is_optional));
  const bool is_all = row.subject == Subject::pairs_or_all && words.size() == 1;
  if (!is_all && (words.size() < least || words.size() > most))
    return Failure{"that is not how it goes: " + usage_of(row)};
  if (has_classes(row))
    if (auto wrong = why_no_pauses(topology)) return Failure{std::move(*wrong)};
  ElementDetails said;
  if (!is_all)
    if (auto wrong = take_subject(topology, row.subject, words[1], said)) return Failure{std::move(*wrong)};
  for (std::size_t i = 2; i < words.size(); ++i)
    if (auto wrong = std::visit([&](auto value) { return take(value, topology, words[i], said); }, keys[i - 2]->into))
      return Failure{std::move(*wrong)};
  std::vector<fabric::Fault> faults{fault_of(row.kind, said)};
  if (!said.peers.empty() && !said.is_one_way) {
    std::swap(said.hosts, said.peers);
    faults.push_back(fault_of(row.kind, said));
  }
  return faults;
}

std::optional<std::string> why_no_change(const Topology& topology, const ElementChange& change) {
  const auto is_host = [&](std::uint32_t vertex) { return topology.is_host(vertex); };
  const auto is_switch = [&](std::uint32_t vertex) {
    return vertex < topology.vertices.size() && !topology.is_host(vertex);
  };
  const auto is_link = [&](LinkId link) { return link.cable < topology.cables.size(); };
  if (!std::ranges::all_of(change.links, is_link)) return "this fabric has no such link";
  if (!std::ranges::all_of(change.hosts, is_host) || !std::ranges::all_of(change.peers, is_host))
    return "this fabric has no such node";
  if (!std::ranges::all_of(change.switches, is_switch)) return "this fabric has no such switch";
  ElementDetails said;
  static_cast<ElementChange&>(said) = change;
  for (const std::string_view key : fabric::element_row(change.kind).keys)
    if (auto wrong =
            std::visit([&](auto value) { return what_is_wrong(value, topology, said); }, fabric::element_key(key).into))
      return wrong;
  return std::nullopt;
}

std::string link_name(const Topology& topology, LinkId link) {
  const fabric::Cable& cable = topology.cables[link.cable];
  const std::string& a = topology.vertices[cable.a].name;
  const std::string& b = topology.vertices[cable.b].name;
  return link.backward ? b + "->" + a : a + "->" + b;
}

Result<std::vector<LinkId>, std::string> find_links(const Topology& topology, const std::string& names,
                                                    fabric::SeenFrom direction) {
  std::vector<LinkId> found;
  for (const std::string& name : split(names)) {
    const std::vector<LinkId> links = fabric::links_named(topology, name, direction);
    if (links.empty()) return Failure{no_link(topology, name)};
    found.insert(found.end(), links.begin(), links.end());
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

Result<std::vector<LinkId>, std::string> find_links_of(const Topology& topology, const std::string& names,
                                                       const fabric::FaultRule& rule) {
  const fabric::SeenFrom direction = fabric::direction_said(rule);
  for (const std::string& name : split(names))
    if (const auto wrong = fabric::why_no_direction(name, direction))
      return Failure{"'" + name + "': " + std::string(*wrong)};
  return find_links(topology, names, direction);
}

std::optional<std::vector<std::uint32_t>> find_vertices(const Topology& topology, const std::string& names,
                                                        bool hosts) {
  std::vector<std::uint32_t> found;
  for (const std::string& name : split(names)) {
    const std::vector<std::uint32_t> vertices = fabric::vertices_named(topology, name);
    if (vertices.empty() || topology.is_host(vertices.front()) != hosts) return std::nullopt;
    found.insert(found.end(), vertices.begin(), vertices.end());
  }
  return found;
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  if (text == "0") return 0;
  const auto rate = fabric::parse_rate(text);
  return rate && *rate <= kRateMax ? rate : std::nullopt;
}

std::optional<Duration> parse_time_span(std::string_view text) {
  return text == "0" ? Duration{0} : fabric::parse_duration(text, fabric::kFaultTimeMax);
}

}  // namespace verbena::host
