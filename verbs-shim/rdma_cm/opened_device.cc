#include "verbs-shim/rdma_cm/opened_device.h"

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"
#include "wire/assert.h"

namespace verbena::shim::rdma_cm {

host::Engine* OpenedDevice::engine() const {
  return context_ != nullptr ? engine_of(context_) : nullptr;
}

bool OpenedDevice::require() {
  if (engine() != nullptr && !engine()->is_removed()) return true;
  // The one of before a fork() is the parent's: it is left as it lies. A removed one is back when nobody holds it.
  if (engine() != nullptr) close_device(context_);
  context_ = open_device(&device_->device);
  return engine() != nullptr;
}

bool OpenedDevices::require() {
  if (devices_.empty())
    for (Device* const device : all_devices()) devices_.emplace_back(*device);
  bool is_open = false;
  for (OpenedDevice& one : devices_)
    if (one.require()) is_open = true;
  return is_open;
}

host::Engine* OpenedDevices::any_engine() const {
  for (const OpenedDevice& one : devices_)
    if (one.engine() != nullptr) return one.engine();
  return nullptr;
}

OpenedDevice& OpenedDevices::first() {
  OpenedDevice* found = nullptr;
  for (OpenedDevice& one : devices_)
    if (found == nullptr && one.engine() != nullptr) found = &one;
  VERBENA_ASSERT(found != nullptr);
  return *found;
}

OpenedDevice* OpenedDevices::with(const Address& address) {
  if (address.is_loopback()) return &first();
  for (OpenedDevice& one : devices_)
    if (one.engine() != nullptr && one.gid() == address.gid) return &one;
  return nullptr;
}

std::vector<OpenedDevice*> OpenedDevices::at(const Address& source) {
  std::vector<OpenedDevice*> found;
  OpenedDevice* const only = source.is_any() ? nullptr : with(source);
  for (OpenedDevice& one : devices_)
    if (one.engine() != nullptr && (source.is_any() || &one == only)) found.push_back(&one);
  return found;
}

OpenedDevice* OpenedDevices::of(const Device& device) {
  for (OpenedDevice& one : devices_)
    if (one.is(device)) return &one;
  return nullptr;
}

bool OpenedDevices::has_another_than(const OpenedDevice& one) const {
  for (const OpenedDevice& other : devices_)
    if (&other != &one && other.engine() != nullptr && !other.engine()->is_removed()) return true;
  return false;
}

}  // namespace verbena::shim::rdma_cm
