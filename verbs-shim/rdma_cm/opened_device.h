// OpenedDevice: a verbs device that IDs of a process stand on; OpenedDevices: all of them.
//
// Solely responsible for having them open: a device is opened at first use, and again once it has become another one
// (after a fork, or a removal); and for finding the one that has an address. Guarded by the lock of the device rdma_cm.
// Tested by: tests/shim/rdma_cm/rdma_cm_removal_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <vector>

#include "emulator/host/engine/engine.h"
#include "verbs-shim/rdma_cm/id.h"
#include "verbs-shim/verbs/devices.h"

namespace verbena::shim::rdma_cm {

class OpenedDevice {
 public:
  explicit OpenedDevice(Device& device) : device_(&device) {}
  /// Null: it is not open.
  host::Engine* engine() const;
  /// Opens it where it is needed. Not from the engine's threads: an engine may end here.
  bool require();
  bool is(const Device& device) const { return device_ == &device; }
  __be64 guid() const { return node_guid(*device_); }
  const wire::Gid& gid() const { return device_->identity.gids[0]; }

 private:
  Device* device_;
  ibv_context* context_ = nullptr;
};

class OpenedDevices {
 public:
  /// False: not even one of them is open.
  bool require();
  /// Null: none is open.
  host::Engine* any_engine() const;

  // Where one is open.
  OpenedDevice& first();
  /// Null: no open one has it. The loopback address is the first one's.
  OpenedDevice* with(const Address& address);
  /// Those on which an ID with this source hears: any address is that of each.
  std::vector<OpenedDevice*> at(const Address& source);

  /// Null: nothing stands on it yet.
  OpenedDevice* of(const Device& device);
  bool has_another_than(const OpenedDevice& one) const;
  auto begin() { return devices_.begin(); }
  auto end() { return devices_.end(); }

 private:
  std::vector<OpenedDevice> devices_;  // filled once: IDs point at its elements
};

}  // namespace verbena::shim::rdma_cm
