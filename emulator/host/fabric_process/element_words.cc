#include "emulator/host/fabric_process/element_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "wire/enumerators.h"

namespace verbena::host {
namespace {

using fabric::ElementChange;
using fabric::LinkId;
using fabric::Topology;
using Kind = ElementChange::Kind;
using Subject = ElementWord::Subject;
using Value = ElementWord::Value;
using Parsed = Result<std::vector<ElementChange>, std::string>;

constexpr std::size_t kNamesSuggestedFrom = 2000;
constexpr const char* kNoClasses = "this fabric has no traffic classes, and nobody pauses: serve it with --qos";
constexpr std::uint64_t kRateMax = 100'000'000'000'000;

constexpr std::array kRate{LinkValue{"rate_bits_per_second", "bps"}};
constexpr std::array kDelay{LinkValue{"delay_ns", "ns"}, LinkValue{"jitter_ns", "ns"}};

constexpr std::array<ElementWord, 12> kWords{{
    {Kind::link_down, Subject::links, Value::none, "link-down", 2, 2, "link-down LINK",
     "The cable is dead: what is on it is lost, ports at its ends go down, switches find other ways.",
     "link-down n1-s1", "link-up"},
    {Kind::link_up, Subject::links, Value::none, "link-up", 2, 2, "link-up LINK", "It is alive again.",
     "link-up n1-s1"},
    {Kind::link_rate, Subject::links, Value::rate, "link-rate", 3, 3, "link-rate LINK RATE",
     "Another rate from now on; 0: frames take no time.", "link-rate n1-s1 10Gbps", "", kRate},
    {Kind::link_delay, Subject::links, Value::delay, "link-delay", 3, 4, "link-delay LINK TIME [JITTER]",
     "Another delay from now on, and up to JITTER more, evenly spread.", "link-delay all 5us 1us", "", kDelay},
    {Kind::switch_crash, Subject::switches, Value::none, "switch-crash", 2, 2, "switch-crash SWITCH,...",
     "The switches are dead, with all their cables.", "switch-crash s1,s2", "switch-restart"},
    {Kind::switch_restart, Subject::switches, Value::none, "switch-restart", 2, 2, "switch-restart SWITCH,...",
     "They are alive again.", "switch-restart s1,s2"},
    {Kind::partition, Subject::pairs, Value::none, "partition", 3, 4, "partition NODE,... NODE,... [one-way]",
     "Packets between nodes of the first list and nodes of the second vanish, while all ports stay up; one-way: only "
     "those from the first to the second.",
     "partition n1,n2 n3 one-way", "heal"},
    {Kind::heal, Subject::pairs, Value::none, "heal", 1, 4, "heal [NODE,... NODE,... [one-way]]",
     "Ends all partitions, or the latest that was said with the same words. A pair stays cut as long as another "
     "partition cuts it.",
     "heal"},
    {Kind::port_error, Subject::hosts, Value::none, "port-error", 2, 2, "port-error NODE,...",
     "All cables of the nodes are dead: their ports go down (IBV_EVENT_PORT_ERR).", "port-error n1,n2", "port-active"},
    {Kind::port_active, Subject::hosts, Value::none, "port-active", 2, 2, "port-active NODE,...",
     "All their cables are alive again (IBV_EVENT_PORT_ACTIVE).", "port-active n1,n2"},
    {Kind::pause_storm, Subject::hosts, Value::classes, "pause-storm", 2, 3, "pause-storm NODE,... [CLASS,...]",
     "The nodes' NICs ask for a pause of these traffic classes, or of all, again and again, whatever comes to them, as "
     "a broken one does. In a fabric with traffic classes (--qos).",
     "pause-storm n3 3", "pause-calm"},
    {Kind::pause_calm, Subject::hosts, Value::classes, "pause-calm", 2, 3, "pause-calm NODE,... [CLASS,...]",
     "They no longer do.", "pause-calm n3"},
}};

constexpr bool in_order_of_kinds() {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (kWords[i].kind != static_cast<Kind>(i)) return false;
  return true;
}
static_assert(in_order_of_kinds() && !wire::is_enumerator<Kind, kWords.size()>, "each kind has its row");

Parsed no_change(std::string text) {
  return Failure{std::move(text)};
}

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
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const bool is_other = std::ranges::count(topology.vertices, name, &fabric::Vertex::name) != 0;
    return is_other ? std::string() : fabric::did_you_mean(name, known);
  }
  return {};
}

Parsed parse_of_links(const Topology& topology, ElementChange change, Value value, const FabricWords& words) {
  auto links = find_links(topology, words[1]);
  if (!links) return no_change(no_link(topology, words[1]));
  change.links = std::move(*links);
  if (value == Value::rate) {
    const auto rate = parse_rate(words[2]);
    if (!rate) return no_change(no_rate(words[2]));
    change.rate_bits_per_second = *rate;
  }
  if (value == Value::delay) {
    const auto delay = parse_time_span(words[2]);
    const auto jitter = words.size() > 3 ? parse_time_span(words[3]) : Duration{0};
    if (!delay || !jitter) return no_change(no_time(words[delay ? 3 : 2]));
    change.delay = *delay;
    change.jitter = *jitter;
  }
  return std::vector{std::move(change)};
}

/// Of a partition, and of what ends one: without `one-way` it is one each way.
Parsed parse_between(const Topology& topology, ElementChange change, const ElementWord& word,
                     const FabricWords& words) {
  if (words.size() == 1) return std::vector{std::move(change)};
  if (words.size() == 2) return no_change("that is not how it goes: " + std::string(word.usage));
  auto from = find_vertices(topology, words[1], true);
  auto to = find_vertices(topology, words[2], true);
  if (!from || !to) return no_change(not_a_node(topology, words[from ? 2 : 1]));
  if (words.size() > 3 && words[3] != "one-way") return no_change("unknown word '" + words[3] + "': one-way is right");
  change.hosts = std::move(*from);
  change.peers = std::move(*to);
  std::vector<ElementChange> ways{change};
  if (words.size() == 3) {
    std::swap(change.hosts, change.peers);
    ways.push_back(std::move(change));
  }
  return ways;
}

Parsed parse_of_pauses(const Topology& topology, ElementChange change, const FabricWords& words) {
  if (!topology.qos) return no_change(kNoClasses);
  auto hosts = find_vertices(topology, words[1], true);
  if (!hosts) return no_change(not_a_node(topology, words[1]));
  change.hosts = std::move(*hosts);
  if (words.size() < 3) return std::vector{std::move(change)};
  change.classes = 0;
  for (const std::string& name : split(words[2])) {
    const auto number = fabric::parse_number(name);
    if (!number || *number >= fabric::kTrafficClasses)
      return no_change("'" + words[2] + "' is not a traffic class from 0 to 7, nor several with commas");
    change.classes |= fabric::bit_of(static_cast<fabric::TrafficClass>(*number));
  }
  return std::vector{std::move(change)};
}

}  // namespace

std::span<const ElementWord> element_words() {
  return kWords;
}

std::string no_link(const Topology& topology, const std::string& name) {
  const bool is_one_way = name.find('>') != name.npos;
  std::vector<std::string> names{"all"};
  for (std::uint32_t i = 0; i < topology.cables.size() && names.size() < kNamesSuggestedFrom; ++i) {
    names.push_back(is_one_way ? link_name(topology, {i, false}) : topology.cable_name(i));
    if (is_one_way) names.push_back(link_name(topology, {i, true}));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "there is no link '" + name + "' (verbena stat lists them)" + fabric::did_you_mean(name, known);
}
std::string not_a_node(const Topology& topology, const std::string& names) {
  return "'" + names + "' is not a node of this fabric, nor several with commas" + vertex_meant(topology, names, true);
}

Parsed parse_element(const Topology& topology, const ElementWord& word, const FabricWords& words) {
  ElementChange change{.kind = word.kind};
  switch (word.subject) {
    case Subject::links:
      return parse_of_links(topology, std::move(change), word.value, words);
    case Subject::pairs:
      return parse_between(topology, std::move(change), word, words);
    case Subject::switches: {
      auto switches = find_vertices(topology, words[1], false);
      if (!switches)
        return no_change("'" + words[1] + "' is not a switch of this fabric, nor several with commas" +
                         vertex_meant(topology, words[1], false));
      change.switches = std::move(*switches);
      return std::vector{std::move(change)};
    }
    case Subject::hosts: {
      if (word.value == Value::classes) return parse_of_pauses(topology, std::move(change), words);
      auto hosts = find_vertices(topology, words[1], true);
      if (!hosts) return no_change(not_a_node(topology, words[1]));
      change.hosts = std::move(*hosts);
      return std::vector{std::move(change)};
    }
  }
  return no_change("unknown word");
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
  switch (kWords[static_cast<std::size_t>(change.kind)].value) {
    case Value::rate:
      if (change.rate_bits_per_second > kRateMax) return no_rate(std::to_string(change.rate_bits_per_second) + "bps");
      return std::nullopt;
    case Value::delay:
      for (const Duration time : {change.delay, change.jitter})
        if (time < Duration{0} || time > fabric::kFaultTimeMax) return no_time(std::to_string(time.ns) + "ns");
      return std::nullopt;
    case Value::classes:
      if (!topology.qos) return kNoClasses;
      return std::nullopt;
    case Value::none:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string link_name(const Topology& topology, LinkId link) {
  const fabric::Cable& cable = topology.cables[link.cable];
  const std::string& a = topology.vertices[cable.a].name;
  const std::string& b = topology.vertices[cable.b].name;
  return link.backward ? b + "->" + a : a + "->" + b;
}

std::optional<std::vector<LinkId>> find_links(const Topology& topology, const std::string& name) {
  std::vector<LinkId> links;
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable) {
    const std::string& a = topology.vertices[topology.cables[cable].a].name;
    const std::string& b = topology.vertices[topology.cables[cable].b].name;
    const bool both = name == "all" || name == a + "-" + b || name == b + "-" + a;
    if (both || name == a + "->" + b) links.push_back({cable, false});
    if (both || name == b + "->" + a) links.push_back({cable, true});
  }
  if (links.empty()) return std::nullopt;
  return links;
}

std::optional<std::vector<std::uint32_t>> find_vertices(const Topology& topology, const std::string& names,
                                                        bool hosts) {
  std::vector<std::uint32_t> found;
  for (const std::string& name : split(names)) {
    std::uint32_t vertex = 0;
    while (vertex < topology.vertices.size() && topology.vertices[vertex].name != name) ++vertex;
    if (vertex == topology.vertices.size() || topology.is_host(vertex) != hosts) return std::nullopt;
    found.push_back(vertex);
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
