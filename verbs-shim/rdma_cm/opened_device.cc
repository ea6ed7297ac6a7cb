#include "verbs-shim/rdma_cm/opened_device.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "emulator/host/node/network_device.h"
#include "verbs-shim/rdma_cm/route.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"

namespace verbena::shim::rdma_cm {
namespace {

/// Whether one of the machine's interfaces has the address. A node of the loopback interface is a machine of its own:
/// those of the others are not on it, whatever the kernel says of 127.0.0.0/8.
bool is_on_machine(const Address& address) {
  char name[IF_NAMESIZE];
  return !host::device_network_of(address.gid) && host::find_network_device(address.gid.octets, name);
}

}  // namespace

host::Engine* OpenedDevice::engine() const {
  return context_ != nullptr ? engine_of(context_) : nullptr;
}

bool OpenedDevice::require() {
  let_go_if_removed();
  // The one of before a fork() is the parent's: it is left as it lies.
  if (engine() == nullptr) context_ = open_device(&device_->device);
  return engine() != nullptr;
}

void OpenedDevice::let_go_if_removed() {
  if (engine() != nullptr && engine()->is_removed()) close_device(std::exchange(context_, nullptr));
}

void OpenedDevices::let_go_of_removed() {
  for (OpenedDevice& one : devices_) one.let_go_if_removed();
}

std::vector<OpenedDevice>& OpenedDevices::all() {
  if (devices_.empty())
    for (Device* const device : all_devices()) devices_.emplace_back(*device);
  return devices_;
}

host::Engine* OpenedDevices::any_engine() const {
  for (const OpenedDevice& one : devices_)
    if (one.engine() != nullptr) return one.engine();
  return nullptr;
}

/// Rather one whose port is up, as cma_bind_loopback of the kernel has it. Null: none can be opened.
OpenedDevice* OpenedDevices::first() {
  OpenedDevice* found = nullptr;
  for (OpenedDevice& one : all()) {
    if (!one.require()) continue;
    if (one.engine()->run([](nic::Nic& nic, Time) { return nic.config().port(1).is_up; })) return &one;
    if (found == nullptr) found = &one;
  }
  return found;
}

Result<OpenedDevice*, int> OpenedDevices::with(const Address& address) {
  if (address.needs_scope() && address.scope == 0) return Failure{EINVAL};
  OpenedDevice* found = nullptr;
  const auto has_it =
      std::ranges::find_if(all(), [&](const OpenedDevice& one) { return has_address(one.identity(), address); });
  if (has_it != devices_.end()) found = &*has_it;
  if (found == nullptr && !address.needs_scope() && !is_on_machine(address)) return Failure{EADDRNOTAVAIL};
  if (found == nullptr || !found->require()) return Failure{ENODEV};
  return found;
}

OpenedDevice* OpenedDevices::towards(const Address& destination) {
  if (destination.is_any()) return first();
  std::vector<const host::DeviceIdentity*> identities;
  for (const OpenedDevice& one : all()) identities.push_back(&one.identity());
  const auto place = find_route(identities, destination);
  if (!place) return first();
  OpenedDevice& found = devices_[*place];
  return found.require() ? &found : nullptr;
}

std::vector<OpenedDevice*> OpenedDevices::at(const Address& source) {
  std::vector<OpenedDevice*> found;
  if (!source.is_any()) {
    if (const auto only = with(source)) found.push_back(*only);
    return found;
  }
  for (OpenedDevice& one : all())
    if (one.require()) found.push_back(&one);
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
