#include "scenarios/language/element_names.h"

#include <algorithm>
#include <functional>

#include "emulator/fabric/link_names.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/rails.h"

namespace verbena::scenarios {
namespace {

using fabric::FaultDirection;

constexpr unsigned kForward = 1;
constexpr unsigned kBackward = 2;
constexpr std::size_t kNamesSuggestedFrom = 2000;
constexpr std::size_t kNamesShown = 12;
constexpr std::string_view kListIsRight = "several names are a list: [n1, n2]";

using NameAt = std::function<std::string(std::size_t index)>;

/// "; there are n1, n2, n3" with the one that may be meant.
std::string there_are(const std::string& wanted, std::size_t number, const NameAt& name_at) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(number, kNamesSuggestedFrom); ++i) names.push_back(name_at(i));
  const bool are_all = number <= kNamesShown;
  std::string text = "; there are ";
  for (std::size_t i = 0; i < (are_all ? number : kNamesShown - 2); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (!are_all) text += ", ... " + name_at(number - 1) + ", " + std::to_string(number) + " in all";
  const std::vector<std::string_view> known(names.begin(), names.end());
  return text + fabric::did_you_mean(wanted, known);
}

}  // namespace

ElementNames::ElementNames(const fabric::Topology& topology) : topology_(topology) {
  for (std::uint32_t i = 0; i < topology.vertices.size(); ++i) vertices_.emplace(topology.vertices[i].name, i);
  if (topology.rails == 1) return;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) nodes_.emplace(topology.node_name(node), node);
}

std::optional<std::uint32_t> ElementNames::find_node(const std::string& name) const {
  if (topology_.rails == 1) {
    const auto host = vertices_.find(name);
    return host == vertices_.end() || !topology_.is_host(host->second) ? std::nullopt : std::optional(host->second);
  }
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint32_t> ElementNames::find_vertices(const std::string& name) const {
  if (const auto vertex = vertices_.find(name); vertex != vertices_.end()) return {vertex->second};
  std::vector<std::uint32_t> found;
  if (const auto node = find_node(name))
    for (std::uint32_t rail = 0; rail < topology_.rails; ++rail) found.push_back(*node * topology_.rails + rail);
  return found;
}

std::vector<std::uint32_t> ElementNames::find_hosts(const std::string& name) const {
  std::vector<std::uint32_t> found = find_vertices(name);
  if (!found.empty() && !topology_.is_host(found.front())) found.clear();
  return found;
}

std::vector<std::uint32_t> ElementNames::need_hosts(const Value& name) const {
  const std::string word = name.word();
  std::vector<std::uint32_t> found = find_hosts(word);
  if (!found.empty()) return found;
  if (vertices_.contains(word)) name.wrong("it is a switch, and a node is wanted");
  if (word.find_first_of(", ") != word.npos) name.wrong(std::string(kListIsRight));
  if (const std::size_t dash = word.find('-'); dash != word.npos && !find_vertices(word.substr(0, dash)).empty())
    name.wrong("it is a link, and a node is wanted: write its name, such as " + std::string(topology_.node_name(0)));
  name.wrong(no_host(word));
}

std::uint32_t ElementNames::node(const Value& name) const {
  const std::vector<std::uint32_t> hosts = need_hosts(name);
  if (hosts.size() == topology_.rails) return topology_.node_of(hosts.front());
  name.wrong("it is one rail, and a whole node is wanted: write " +
             std::string(topology_.node_name(topology_.node_of(hosts.front()))));
}

std::string ElementNames::no_host(const std::string& name) const {
  if (std::string rails = fabric::rails_meant(topology_, name); !rails.empty()) return "there is no such node" + rails;
  return "there is no such node" + there_are(name, topology_.nodes(), [&](std::size_t i) {
           return std::string(topology_.node_name(static_cast<std::uint32_t>(i)));
         });
}

std::string ElementNames::meant(const std::string& name, bool with_groups) const {
  std::vector<std::string_view> known;
  if (with_groups) known = {"hosts", "trunks", "all"};
  for (std::size_t i = 0; i < std::min(topology_.vertices.size(), kNamesSuggestedFrom); ++i)
    known.push_back(topology_.vertices[i].name);
  return fabric::did_you_mean(name, known);
}

std::vector<std::uint32_t> ElementNames::hosts(const Value& names) const {
  std::vector<std::uint32_t> found;
  if (names.is_word() && names.word() == "all") {
    for (std::uint32_t i = 0; i < topology_.hosts; ++i) found.push_back(i);
    return found;
  }
  std::vector<bool> seen(topology_.hosts);
  for (const Value& name : names.items())
    for (const std::uint32_t index : need_hosts(name)) {
      if (seen[index]) name.wrong("it is named twice");
      seen[index] = true;
      found.push_back(index);
    }
  return found;
}

std::vector<std::uint32_t> ElementNames::nodes(const Value& names) const {
  std::vector<std::uint32_t> found;
  if (!names.is_word() || names.word() != "all")
    for (const Value& name : names.items()) (void)node(name);
  for (const std::uint32_t host : hosts(names))
    if (topology_.rail_of(host) == 0) found.push_back(topology_.node_of(host));
  return found;
}

std::vector<std::uint32_t> ElementNames::switches(const Value& names) const {
  std::vector<std::uint32_t> found;
  for (const Value& name : names.items()) {
    const auto vertex = vertices_.find(name.word());
    if (vertex == vertices_.end() || topology_.is_host(vertex->second)) {
      if (topology_.switches() == 0) name.wrong("this topology has no switches");
      if (name.word().find_first_of(", ") != std::string::npos) name.wrong(std::string(kListIsRight));
      name.wrong("there is no such switch" + there_are(name.word(), topology_.switches(), [&](std::size_t i) {
                   return topology_.vertices[topology_.hosts + i].name;
                 }));
    }
    if (std::find(found.begin(), found.end(), vertex->second) != found.end()) name.wrong("it is named twice");
    found.push_back(vertex->second);
  }
  return found;
}

void ElementNames::no_link(const Value& name) const {
  const std::string word = name.word();
  if (word.find_first_of(", ") != word.npos) name.wrong(std::string(kListIsRight));
  const auto ends = fabric::cable_ends(word);
  if (!ends)
    name.wrong(
        "there is no such node, switch or link: write names such as n1, n1-s1, n1->s1, hosts, trunks or all" +
        (fabric::rails_meant(topology_, word).empty() ? meant(word, true) : fabric::rails_meant(topology_, word)));
  for (const std::string_view end : {ends->from, ends->to})
    if (std::string rails = fabric::rails_meant(topology_, end);
        !rails.empty() && find_vertices(std::string(end)).empty())
      name.wrong("there is no such link" + rails);
  name.wrong("there is no such link" + there_are(word, topology_.cables.size(), [&](std::size_t i) {
               return topology_.cable_name(static_cast<std::uint32_t>(i));
             }));
}

void ElementNames::choose(const Value& name, std::optional<FaultDirection> direction, Chosen& chosen) const {
  const std::string word = name.word();
  const std::vector<fabric::LinkId> links = fabric::links_named(topology_, word, direction);
  if (const auto wrong = fabric::why_no_direction(word, direction);
      wrong && (!links.empty() || fabric::link_group(word)))
    name.wrong(std::string(*wrong));
  if (links.empty()) {
    if (fabric::link_group(word)) name.wrong("this topology has no such links");
    if (find_vertices(word).empty()) no_link(name);
  }
  for (const fabric::LinkId link : links) chosen[link.cable] |= link.backward ? kBackward : kForward;
}

std::vector<LinkChoice> ElementNames::links_of(const Chosen& chosen) {
  std::vector<LinkChoice> links;
  for (const auto& [cable, bits] : chosen)
    links.push_back({cable, bits == kForward ? Way::forward : bits == kBackward ? Way::backward : Way::both});
  return links;
}

std::vector<LinkChoice> ElementNames::cables(const Value& names) const {
  Chosen chosen;
  for (const Value& name : names.items()) {
    if (name.word().find('>') != std::string::npos) name.wrong("a whole link is wanted: write it like n1-s1");
    choose(name, FaultDirection::both, chosen);
  }
  return links_of(chosen);
}

std::vector<LinkChoice> ElementNames::directions(const Value& names, std::optional<FaultDirection> direction) const {
  Chosen chosen;
  for (const Value& name : names.items()) choose(name, direction, chosen);
  return links_of(chosen);
}

std::vector<LinkChoice> ElementNames::out_of_hosts() const {
  Chosen chosen;
  for (std::uint32_t i = 0; i < topology_.cables.size(); ++i) {
    if (topology_.is_host(topology_.cables[i].a)) chosen[i] |= kForward;
    if (topology_.is_host(topology_.cables[i].b)) chosen[i] |= kBackward;
  }
  return links_of(chosen);
}

std::string link_name(const fabric::Topology& topology, const LinkChoice& link) {
  const fabric::Cable& cable = topology.cables[link.cable];
  const std::string& a = topology.vertices[cable.a].name;
  const std::string& b = topology.vertices[cable.b].name;
  switch (link.way) {
    case Way::forward:
      return a + "->" + b;
    case Way::backward:
      return b + "->" + a;
    case Way::both:
      return a + "-" + b;
  }
  return {};
}

std::vector<std::string> link_names(const fabric::Topology& topology, const std::vector<fabric::LinkId>& links) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::uint32_t cable = links[i].cable;
    const bool both = !links[i].backward && i + 1 < links.size() && links[i + 1] == fabric::LinkId{cable, true};
    names.push_back(link_name(topology, {cable, both ? Way::both : links[i].backward ? Way::backward : Way::forward}));
    if (both) ++i;
  }
  return names;
}

}  // namespace verbena::scenarios
