// What the verbs tell the device of their connection manager, /dev/infiniband/rdma_cm.
//
// Solely responsible for these calls upwards: verbs-shim/rdma_cm has the device, stands on the verbs and defines
// them (offer.cc). So the verbs include nothing of it.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#pragma once

#include <cstdint>

namespace verbena::cm {
struct Event;
}

namespace verbena::shim {

struct Device;

/// Tells the path shim, if the program has it, what to do with the device. Once, before the program can open it.
void offer_connection_device();

/// What the communication manager of a port of this device, from 1, has to say.
void deliver(const Device& from, std::uint32_t port, const cm::Event& event);

/// Nobody has a device open any more that was removed: it is there again for whoever opens it.
void removed_device_is_free();

}  // namespace verbena::shim
