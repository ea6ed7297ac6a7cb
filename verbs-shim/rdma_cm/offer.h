// The way in to /dev/infiniband/rdma_cm, for whoever should not know more of it.
#pragma once

namespace verbena::shim::rdma_cm {

/// Tells the path shim, if the program has it, what to do with the device. Once, before the program can open it.
void offer_device();

}  // namespace verbena::shim::rdma_cm
