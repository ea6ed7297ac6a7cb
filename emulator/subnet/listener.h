// Listener: who hears what managers have set in a Subnet, and DataPath: who counts what passes beside management. A
// network that carries the data of the same subnet is both.
// Tested by: tests/subnet/data_path_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/subnet/node.h"

namespace verbena::subnet {

/// Is called when the change holds, and looks at Subnet::nodes(). It may not call the subnet.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Node::way_to() of so many LIDs from `first` on.
  virtual void forwarding_changed(std::size_t node, std::uint32_t first, std::uint32_t lids) = 0;
  /// Node::members() of so many groups from `first` on.
  virtual void groups_changed(std::size_t node, std::uint32_t first, std::uint32_t groups) = 0;
  /// Port::lanes() of what came in by one port, or (kNoPort) by any.
  virtual void lanes_changed(PortEnd out, std::uint8_t in) = 0;
  virtual void arbitration_changed(PortEnd port) = 0;
  /// Or whether they are enforced.
  virtual void pkeys_changed(PortEnd port) = 0;
  /// PortInfo; `asks`: the manager asks clients to register again.
  virtual void port_changed(PortEnd port, bool asks) = 0;
  /// The node has begun anew: nothing of it is as it was.
  virtual void node_restarted(std::size_t node) = 0;
};

class DataPath {
 public:
  virtual ~DataPath() = default;
  /// Of data alone, since it began.
  virtual PortTotals totals(PortEnd port) = 0;
};

}  // namespace verbena::subnet
