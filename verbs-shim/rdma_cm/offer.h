// The ways in to /dev/infiniband/rdma_cm, for whoever should not know more of it: of verbs/, device.cc and process.cc.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#pragma once

namespace verbena::cm {
struct Event;
}

namespace verbena::shim::rdma_cm {

/// Tells the path shim, if the program has it, what to do with the device. Once, before the program can open it.
void offer_device();

/// Tells it as which user this process has opened its device.
void tell_user();

/// What the connection manager of this process's engine has to say.
void deliver(const cm::Event& event);

}  // namespace verbena::shim::rdma_cm
