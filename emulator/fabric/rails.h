// Rails: nodes with several NIC ports. How their hosts are called, and the shapes with them.
//
// Solely these names, in both directions, and how a shape becomes one with rails. Node n1 of a fabric with two rails
// has the hosts n1.1 and n1.2; where there is one rail, the host is called as the node. Wherever hosts are named, the
// name of a node stands for all of its rails. Which address a rail has is host/node/identity.h's: it is a device of its
// node.
// Tested by: tests/fabric/rails_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/fabric/quantity.h"
#include "emulator/fabric/topology.h"
#include "wire/result.h"

namespace verbena::fabric {

/// Their words.
inline constexpr std::array<Named<Planes>, 2> kPlanes{{{"separate", Planes::separate}, {"shared", Planes::shared}}};

inline constexpr std::uint32_t kRailsMax = 16;  // as a process has devices

struct RailOptions {
  std::uint32_t rails = 1;  // 1 to kRailsMax
  Planes planes = Planes::separate;
};

/// "n1.2"; "n1" where there is one rail. `rail` counts from 0.
std::string host_name(std::string_view node, std::uint32_t rail, std::uint32_t rails);

/// A shape, made with one rail, with so many. Separate planes: its switches are there once for each rail, first all of
/// rail 1. Shared: all rails of a node are joined to the same switch. The error is one line: it would be too large.
Result<Topology, std::string> with_rails(const Topology& shape, const RailOptions& options);

/// The vertices of this name: one, or all rails of a node. Empty: there is none.
std::vector<std::uint32_t> vertices_named(const Topology& topology, std::string_view name);
/// The pairs of vertices that a cable between these names would join: of a node each rail; between two nodes, rails of
/// one number. Empty: there is none of one of the names.
std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_named(const Topology& topology, std::string_view a,
                                                                std::string_view b);
/// The cables that join a vertex of the one name to a vertex of the other, ascending.
std::vector<std::uint32_t> cables_between(const Topology& topology, std::string_view a, std::string_view b);

/// "; n1 has the rails n1.1 and n1.2", of a name that a rail of a node would have and none has; or nothing.
std::string rails_meant(const Topology& topology, std::string_view name);

}  // namespace verbena::fabric
