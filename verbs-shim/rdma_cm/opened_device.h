// OpenedDevice: a verbs device that IDs of a process stand on; OpenedDevices: all of them.
//
// Solely responsible for having a device open where an ID needs it, and no other one: it is opened at first use, and
// again once it has become another one (after a fork, or a removal); and for finding the one that has an address or
// leads to one. Guarded by the lock of the device rdma_cm.
// Tested by: tests/shim/rdma_cm/rdma_cm_devices_test.cc, tests/shim/rdma_cm/rdma_cm_one_goes_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "emulator/host/engine/engine.h"
#include "verbs-shim/rdma_cm/id.h"
#include "verbs-shim/verbs/devices.h"
#include "wire/result.h"

namespace verbena::shim::rdma_cm {

class OpenedDevice {
 public:
  explicit OpenedDevice(Device& device) : device_(&device) {}
  /// Null: it is not open.
  host::Engine* engine() const;
  /// Opens it where it is not open. False: it cannot be. Not from the engine's threads: an engine may end here.
  bool require();
  /// It is there again, for whoever opens it, once nobody holds the removed one. Not from the engine's threads.
  void let_go_if_removed();
  bool is(const Device& device) const { return device_ == &device; }
  const host::DeviceIdentity& identity() const { return device_->identity; }
  __be64 guid() const { return node_guid(*device_); }
  const wire::Gid& gid() const { return identity().gids[0]; }

 private:
  Device* device_;
  ibv_context* context_ = nullptr;
};

class OpenedDevices {
 public:
  /// The devices that are not there any more are closed.
  void let_go_of_removed();
  /// Null: none is open.
  host::Engine* any_engine() const;

  // These open what they find.

  /// The one that has the address. The error is an errno value, as the kernel's rdma_bind_addr has it: EADDRNOTAVAIL,
  /// or ENODEV if an interface without a device has it, or if the device cannot be opened; EINVAL: a link-local address
  /// without its interface.
  Result<OpenedDevice*, int> with(const Address& address);
  /// The one by which packets to the address leave. Null: it cannot be opened.
  OpenedDevice* towards(const Address& destination);
  /// Those on which an ID with this source hears: any address is that of each that can be opened.
  std::vector<OpenedDevice*> at(const Address& source);

  /// Null: nothing stands on it yet.
  OpenedDevice* of(const Device& device);
  bool has_another_than(const OpenedDevice& one) const;
  auto begin() { return devices_.begin(); }
  auto end() { return devices_.end(); }

 private:
  std::vector<OpenedDevice>& all();
  OpenedDevice* first();

  std::vector<OpenedDevice> devices_;  // filled once: IDs point at its elements
};

}  // namespace verbena::shim::rdma_cm
