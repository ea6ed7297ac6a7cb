#include "verbs-shim/rdma_cm/opened_device.h"

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"

namespace verbena::shim::rdma_cm {

host::Engine* OpenedDevice::engine() const {
  return context_ != nullptr ? engine_of(context_) : nullptr;
}

bool OpenedDevice::require() {
  if (engine() != nullptr && !engine()->is_removed()) return true;
  // The one of before a fork() is the parent's: it is left as it lies. A removed one is back when nobody holds it.
  if (engine() != nullptr) close_device(context_);
  ibv_device** const list = get_device_list(nullptr);
  context_ = list != nullptr && list[0] != nullptr ? open_device(list[0]) : nullptr;
  free_device_list(list);
  return engine() != nullptr;
}

__be64 OpenedDevice::guid() const {
  return node_guid(*device_of(context_->device));
}

}  // namespace verbena::shim::rdma_cm
