// FabricNodes: the NIC ports of a fabric of processes, as the fabric process sees them: where frames for them go, and
// what has come of it.
//
// Solely responsible for which has which address. Host i of the topology is node i + 1; where nodes have R rails, it is
// node i / R + 1, and of the processes that run there their device i % R.
// Tested by: tests/host/fabric_process/shm_ports_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emulator/fabric/rails.h"
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

static_assert(fabric::kRailsMax <= kDevicesMax, "each rail is a device of its node");

/// A process of a node.
struct FabricSeat {
  std::uint32_t host = 0;
  std::uint8_t slot = 0;
};

class FabricNodes {
 public:
  static constexpr std::uint32_t kNoHost = UINT32_MAX;

  FabricNodes(std::uint32_t hosts, std::uint32_t rails) : rails_(rails), nodes_(hosts) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      const DeviceIdentity port = device_of(node_address(host / rails + 1), {host % rails});
      nodes_[host].address = port.address;
      nodes_[host].mac = port.mac;
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  FabricNode& operator[](std::uint32_t host) { return nodes_[host]; }
  const FabricNode& operator[](std::uint32_t host) const { return nodes_[host]; }
  /// kNoHost: of no node of this fabric.
  std::uint32_t host_of(const wire::Gid& address) const {
    const auto place = device_place(address);
    if (!place || place->device >= rails_) return kNoHost;
    const std::uint32_t host = (place->node - 1) * rails_ + place->device;
    return host < nodes_.size() ? host : kNoHost;
  }

 private:
  std::uint32_t rails_;
  std::vector<FabricNode> nodes_;
};

}  // namespace verbena::host
