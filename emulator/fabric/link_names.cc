#include "emulator/fabric/link_names.h"

#include <algorithm>

#include "emulator/fabric/rails.h"

namespace verbena::fabric {
namespace {

/// Adds what leaves (tx) or enters (rx) that end of the cable.
void add(const Topology& topology, std::uint32_t cable, std::uint32_t end, FaultDirection direction,
         std::vector<LinkId>& into) {
  const bool is_from_a = topology.cables[cable].a == end;
  const bool forward = is_from_a == (direction == FaultDirection::tx);
  if (forward || direction == FaultDirection::both) into.push_back({cable, false});
  if (!forward || direction == FaultDirection::both) into.push_back({cable, true});
}

std::vector<LinkId> links_of(const Topology& topology, LinkGroup group, FaultDirection direction) {
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    const bool is_of_host = topology.is_host(cable.a) || topology.is_host(cable.b);
    if (group == LinkGroup::all || is_of_host == (group == LinkGroup::hosts))
      add(topology, i, topology.is_host(cable.a) ? cable.a : cable.b, direction, links);
  }
  return links;
}

std::vector<LinkId> links_of(const Topology& topology, const std::vector<std::uint32_t>& vertices,
                             FaultDirection direction) {
  std::vector<LinkId> links;
  const auto is_end = [&](std::uint32_t vertex) { return std::ranges::find(vertices, vertex) != vertices.end(); };
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i)
    for (const std::uint32_t end : {topology.cables[i].a, topology.cables[i].b})
      if (is_end(end)) add(topology, i, end, direction, links);
  return links;
}

std::vector<LinkId> links_of(const Topology& topology, const CableEnds& ends, FaultDirection direction) {
  std::vector<LinkId> links;
  const std::vector<std::uint32_t> from = vertices_named(topology, ends.from);
  for (const std::uint32_t i : cables_between(topology, ends.from, ends.to)) {
    const Cable& cable = topology.cables[i];
    add(topology, i, std::ranges::find(from, cable.a) != from.end() ? cable.a : cable.b, direction, links);
  }
  return links;
}

}  // namespace

std::optional<LinkGroup> link_group(std::string_view name) {
  for (const auto& group : kLinkGroups)
    if (group.name == name) return group.value;
  return std::nullopt;
}

std::optional<CableEnds> cable_ends(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == name.npos) return std::nullopt;
  const bool is_one_way = name.substr(dash).starts_with("->");
  return CableEnds{name.substr(0, dash), name.substr(dash + (is_one_way ? 2 : 1)), is_one_way};
}

SeenFrom direction_said(const FaultRule& rule) {
  return rule.text.find(" dir=") != rule.text.npos ? SeenFrom(rule.direction) : std::nullopt;
}

std::optional<std::string_view> why_no_direction(std::string_view name, SeenFrom direction) {
  if (!direction) return std::nullopt;
  const auto group = link_group(name);
  if (group && *group != LinkGroup::hosts && *direction != FaultDirection::both)
    return "dir= has no meaning here: name nodes, or directions such as n1->s1";
  const auto ends = cable_ends(name);
  return ends && ends->is_one_way ? std::optional<std::string_view>("it names a direction already: leave dir= out")
                                  : std::nullopt;
}

std::vector<LinkId> links_named(const Topology& topology, std::string_view name, SeenFrom direction) {
  std::vector<LinkId> links;
  if (const auto group = link_group(name)) {
    links = links_of(topology, *group, direction.value_or(FaultDirection::both));
  } else if (const auto vertices = vertices_named(topology, name); !vertices.empty()) {
    links = links_of(topology, vertices, direction.value_or(FaultDirection::tx));
  } else if (const auto ends = cable_ends(name)) {
    links = links_of(topology, *ends, ends->is_one_way ? FaultDirection::tx : direction.value_or(FaultDirection::both));
  }
  std::ranges::sort(links);
  const auto twice = std::ranges::unique(links);
  links.erase(twice.begin(), twice.end());
  return links;
}

}  // namespace verbena::fabric
