// Ports: who may be bound to one, and who listens there, as the kernel's cma_check_port and cma_bind_port have it.
//
// Solely responsible for the ports of a process's IDs. A port is that of an address, which a device's port has
// (DevicePort): what an ID is bound to is claimed under its names, or those of every one if it is bound to any address,
// and there once for each IP version that it stands in the way of. IDs of this process share a name where the kernel's
// rules let them share the port. Guarded by the device's lock.
// Tested by: tests/shim/rdma_cm/rdma_cm_family_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "emulator/host/node/service_directory.h"
#include "emulator/host/os/drawn_numbers.h"
#include "verbs-shim/rdma_cm/id_table.h"
#include "verbs-shim/rdma_cm/opened_device.h"

namespace verbena::shim::rdma_cm {

class Ports {
 public:
  Ports(const IdTable& ids, OpenedDevices& devices) : ids_(ids), devices_(devices) {}

  std::uint16_t ephemeral();
  /// Binds the ID, or leaves it as it was. Returns an errno value, as the others do.
  int take(Id& id, const Address& address);
  int start_listening(Id& id);
  /// Listens at the device ports where a wildcard listener does not yet, and which can be opened. False: one cannot.
  bool listen_on_more(Id& id);
  void release(Id& id);
  /// In the child after fork(): they are the parent's.
  void clear() { claims_.clear(); }

 private:
  int check(const Id& id, std::uint16_t port, bool reuse) const;
  int claim(Id& id, DevicePort& at, host::IpVersion version);
  static void tell_listening(Id& id, DevicePort& at);

  const IdTable& ids_;
  OpenedDevices& devices_;
  std::map<std::tuple<const DevicePort*, std::uint64_t, host::IpVersion>, std::weak_ptr<host::ServiceClaim>> claims_;
  host::DrawnNumbers random_{std::nullopt};  // two processes of a node must not draw the same ones
};

}  // namespace verbena::shim::rdma_cm
