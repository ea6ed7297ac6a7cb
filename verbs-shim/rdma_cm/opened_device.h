// OpenedDevice: the verbs device that a process's IDs stand on.
//
// Solely responsible for having it open: it is opened at first use, and again once it has become another one (after a
// fork, or a removal). Guarded by the device's lock.
// Tested by: tests/shim/rdma_cm/rdma_cm_removal_test.cc
#pragma once

#include <infiniband/verbs.h>

#include "emulator/host/engine/engine.h"

namespace verbena::shim::rdma_cm {

class OpenedDevice {
 public:
  /// Null: none is open.
  host::Engine* engine() const;
  /// Opens it where it is needed. Not from the engine's threads: an engine may end here.
  bool require();
  /// Of an open device.
  __be64 guid() const;
  const wire::Gid& gid() const { return engine()->nic_config().gids[0]; }

 private:
  ibv_context* context_ = nullptr;
};

}  // namespace verbena::shim::rdma_cm
