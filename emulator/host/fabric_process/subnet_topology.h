// The topology of a managed fabric as its agents see it, and the other way round: the fabric that a file of an
// InfiniBand subnet describes.
//
// Solely these two. Vertex V of the fabric is node V of the subnet. A host is an adapter with one port and the GUIDs of
// its device (identity.h); a switch has those of its file, or some of Verbena's own. A link is told as the 4x rate that
// is nearest to its cable's.
// Tested by: tests/host/fabric_process/subnet_topology_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/fabric/topology.h"
#include "emulator/subnet/topology_file.h"
#include "wire/result.h"

namespace verbena::host {

/// What a file says of switches besides their cables, in the order of the fabric's: GUIDs, numbers of ports,
/// descriptions. Its ports have no peers. Empty: there is no file.
using SwitchPlans = std::vector<subnet::NodePlan>;

/// Of a link of four lanes, as PortInfo has it.
struct LinkSpeed {
  std::uint8_t speed;
  std::uint8_t extended;
};
/// The nearest one.
LinkSpeed link_speed(std::uint64_t bits_per_second);

subnet::Topology subnet_of(const fabric::Topology& topology, const SwitchPlans& switches);

struct FabricOfSubnet {
  fabric::Topology topology;  // of the medium InfiniBand; it has not passed check()
  SwitchPlans switches;
};
/// Each port of an adapter that has a cable is a host of its own, in the order of the file. Vertices have the ids of
/// the file, with '_' for what a name cannot have; who would have the name of another one is called n1, n2, ... or s1,
/// ... Adapters' GUIDs are not kept. `cable`: what the file does not say. The error is one line.
Result<FabricOfSubnet, std::string> fabric_of(const subnet::Topology& subnet, const fabric::CableParameters& cable);

/// A file, by its name.
Result<subnet::Topology, std::string> read_subnet_file(const std::string& path);

}  // namespace verbena::host
