// Link names: which cables, or directions of cables, of a topology a name means.
//
// Solely this: a node, one of its rails or a switch (its cables), a cable (n1-s1), a direction of one (n1->s1), or a
// group: hosts (the cables of nodes), trunks (those between switches), all. Scenarios and `verbena fault` take the same
// names by it; what is said of a name that means nothing is theirs.
// Tested by: tests/fabric/link_names_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/quantity.h"
#include "emulator/fabric/topology.h"

namespace verbena::fabric {

enum class LinkGroup : std::uint8_t { hosts, trunks, all };
inline constexpr std::array<Named<LinkGroup>, 3> kLinkGroups{
    {{"hosts", LinkGroup::hosts}, {"trunks", LinkGroup::trunks}, {"all", LinkGroup::all}}};
/// Nothing: it is the name of none.
std::optional<LinkGroup> link_group(std::string_view name);

/// The two ends of "n1-s1", or "n1->s1". Nothing: the text has no dash.
struct CableEnds {
  std::string_view from;
  std::string_view to;
  bool is_one_way = false;
};
std::optional<CableEnds> cable_ends(std::string_view name);

/// What of a cable that a name may mean: what leaves its node, switch or first end (tx), what enters there (rx), or
/// both. Nothing said: what leaves a node or switch; of cables and groups both.
using SeenFrom = std::optional<FaultDirection>;
/// As a rule's text has it (dir=).
SeenFrom direction_said(const FaultRule& rule);

/// What is wrong with a direction that is said of this name; nothing: it has a meaning there.
std::optional<std::string_view> why_no_direction(std::string_view name, SeenFrom direction);

/// Ascending, none twice. Empty: there is none of this name.
std::vector<LinkId> links_named(const Topology& topology, std::string_view name, SeenFrom direction);

}  // namespace verbena::fabric
