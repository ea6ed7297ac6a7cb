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
#include "wire/lid.h"
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
  /// By what a packet has as its source or destination: an address, a link-local one, or what stands for a LID.
  std::uint32_t host_of_packet(const wire::Gid& end) const {
    if (const auto lid = wire::lid_of(end)) return lid->value() < by_lid_.size() ? by_lid_[lid->value()] : kNoHost;
    return host_of(node_of(end));
  }

  /// On InfiniBand: the host's port has 2^lmc LIDs from this one on, and no other. kLidNone: it has none.
  void set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc) {
    for (std::uint32_t& one : by_lid_)
      if (one == host) one = kNoHost;
    if (base == wire::kLidNone) return;
    const std::size_t end = std::size_t{base.value()} + (std::size_t{1} << lmc);
    if (by_lid_.size() < end) by_lid_.resize(end, kNoHost);
    for (std::size_t lid = base.value(); lid < end; ++lid) by_lid_[lid] = host;
  }

 private:
  std::vector<std::uint32_t> by_lid_;  // hosts
  std::uint32_t rails_;
  std::vector<FabricNode> nodes_;
};

}  // namespace verbena::host
