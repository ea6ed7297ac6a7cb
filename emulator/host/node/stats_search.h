// find_node_counters(): the counters of all nodes of a fabric that have processes with an open device, fabric process
// or not.
//
// Solely finding and adding up. Every such process holds a memfd whose name says whose counters are in it
// (stats_file.h), so that nothing has to be registered and nothing can be stale. It sees processes of this user only.
// Tested by: tests/cli/stat_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "emulator/nic/objects/counters.h"
#include "wire/result.h"
#include "wire/types.h"

namespace verbena::host {

struct NodeCounters {
  wire::Gid address;
  wire::Gid device;                      // the address of the first port of the device that it is a port of
  std::uint32_t port = 1;                // of the device
  std::uint32_t lid = 0;                 // that follows from the address; 0: it is not on InfiniBand
  std::vector<std::uint32_t> processes;  // that live, by number
  /// Summed over these processes, ended ones of a `verbena exec --stats` that goes on among them.
  std::array<std::uint64_t, nic::kCounters> values{};
};

/// Of each port that processes have opened, by address. The error is one line: why other processes cannot be looked at.
Result<std::vector<NodeCounters>, std::string> find_node_counters(std::string_view fabric);

}  // namespace verbena::host
