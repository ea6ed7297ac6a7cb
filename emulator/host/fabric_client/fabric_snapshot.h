// FabricSnapshot: what a fabric process counts, at one moment, as a value.
//
// Solely responsible for what is in it. The fabric process takes it between two passes (fabric_process/snapshot.h); it
// travels in octets (fabric_codec.h); whoever asked makes text or JSON of it (render/). Elements are numbers here:
// vertex v is called names[v], hosts come first.
// Tested by: tests/host/fabric_client/fabric_codec_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/fabric/network.h"

namespace verbena::host {

/// Of the fabric's capture.
struct FabricCaptureCounts {
  std::uint64_t frames_missing = 0;
  std::optional<Duration> missing_from;  // since the fabric began
  std::uint64_t frames_cut = 0;
};

/// Of a fabric of InfiniBand.
struct FabricSubnet {
  struct Port {                  // as PortInfo has it (IBA volume 1, 14.2.5.6)
    std::uint16_t base_lid = 0;  // 0: none yet
    std::uint16_t sm_lid = 0;    // 0: no manager is known
    std::uint8_t lmc = 0;        // it has 2^lmc LIDs
    std::uint8_t state = 1;      // 1 down, 2 init, 3 armed, 4 active
  };
  bool is_managed = false;  // else LIDs follow from addresses, and there is no manager
  std::vector<Port> ports;  // in the order of the nodes
  struct Switch {           // its port 0
    std::uint16_t lid = 0;  // 0: none yet
    std::uint16_t sm_lid = 0;
  };
  std::vector<Switch> switches;  // of a managed one: in the order of `names`, behind the nodes
};

struct FabricSnapshot {
  struct Cable {
    std::uint32_t a = 0;  // vertices
    std::uint32_t b = 0;
  };
  struct Link {  // one direction of a cable
    bool is_up = true;
    fabric::LinkStatistics seen;
    fabric::PauseStatistics pauses;  // with `has_classes`
  };
  struct Node {  // a NIC port: one of the node's rails, if it has several
    bool is_up = true;
    std::uint32_t processes = 0;
    std::uint64_t frames_in = 0;  // from the node's processes
    std::uint64_t octets_in = 0;
    std::uint64_t frames_out = 0;  // to them
    std::uint64_t octets_out = 0;
    std::uint64_t nobody = 0;
    std::uint64_t overflowed = 0;
    std::uint64_t pauses = 0;
    Duration not_run{};
    Duration not_run_from{};              // since the fabric began
    std::vector<std::uint64_t> counters;  // in the order of counter_names; empty: nobody counts
  };
  struct Fault {
    std::uint32_t number = 0;
    std::string where;
    std::string rule;
    std::uint64_t hits = 0;
    std::uint32_t unheard = 0;  // processes that go on as if it were not there, of a fault of verbs
  };

  std::string fabric;
  Duration uptime{};
  fabric::NetworkStatistics network;
  std::uint64_t strays = 0;
  bool has_classes = false;  // traffic classes, which may be paused
  std::optional<fabric::PauseDeadlock> deadlock;
  std::vector<fabric::ForwardingLoop> loops;  // of a managed subnet; not all if there are many
  std::vector<std::string> names;             // of vertices
  std::uint32_t rails = 1;                    // of a node: its ports follow one another in `nodes`
  std::vector<Cable> cables;
  std::vector<Link> links;  // of each cable the forward direction, then the backward one
  std::vector<Node> nodes;
  std::optional<FabricSubnet> subnet;  // of a fabric of InfiniBand
  std::vector<Fault> faults;
  std::vector<std::uint32_t> crashed;                            // switches
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cut_off;  // from, to
  std::vector<std::string> counter_names;
  bool counters_complete = false;  // those of processes that ended are kept, but not of any number of them
  std::optional<FabricCaptureCounts> capture;

  /// 0: nobody counts it.
  std::uint64_t counter(std::size_t node, std::string_view name) const {
    const std::vector<std::uint64_t>& counters = nodes[node].counters;
    for (std::size_t i = 0; i < counters.size(); ++i)
      if (counter_names[i] == name) return counters[i];
    return 0;
  }
};

}  // namespace verbena::host
