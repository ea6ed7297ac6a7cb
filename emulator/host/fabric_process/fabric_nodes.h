// FabricNodes: the nodes of a fabric of processes, as the fabric process sees them: where frames for them go, and what
// has come of it.
//
// Solely responsible for which node has which address. Host i of the topology is node i + 1.
// Tested by: tests/host/fabric_process/shm_ports_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/node_directory.h"
#include "wire/time.h"

namespace verbena::host {

struct FabricNodeStatistics {
  std::uint64_t frames_in = 0;  // from the node's processes
  std::uint64_t octets_in = 0;
  std::uint64_t frames_out = 0;  // to them
  std::uint64_t octets_out = 0;
  std::uint64_t nobody = 0;      // for a process that is not there
  std::uint64_t overflowed = 0;  // the process did not take its frames
  Duration not_run{0};           // the longest time that one of its processes was seen to take none of its frames
  Time not_run_from{};
  std::uint64_t pauses = 0;  // times when it was to hand nothing over, for a process did not take what it had sent
};

struct FabricNode {
  wire::Gid address;
  wire::MacAddress mac;
  FabricNodeStatistics statistics;
  std::array<std::uint32_t, kSlots + 1> route_hints{};  // by process slot
};

/// A process of a node.
struct FabricSeat {
  std::uint32_t host = 0;
  std::uint8_t slot = 0;
};

class FabricNodes {
 public:
  static constexpr std::uint32_t kNoHost = UINT32_MAX;

  explicit FabricNodes(std::uint32_t hosts) : nodes_(hosts) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      const DeviceIdentity port = device_of(node_address(host + 1), {});
      nodes_[host].address = port.address;
      nodes_[host].mac = port.mac;
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  FabricNode& operator[](std::uint32_t host) { return nodes_[host]; }
  const FabricNode& operator[](std::uint32_t host) const { return nodes_[host]; }
  /// kNoHost: of no node of this fabric.
  std::uint32_t host_of(const wire::Gid& address) const {
    const auto node = node_number(address);
    return node && *node <= nodes_.size() ? *node - 1 : kNoHost;
  }

 private:
  std::vector<FabricNode> nodes_;
};

}  // namespace verbena::host
