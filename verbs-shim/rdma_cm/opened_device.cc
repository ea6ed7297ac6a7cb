#include "verbs-shim/rdma_cm/opened_device.h"

#include <infiniband/ib.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "emulator/host/node/network_device.h"
#include "emulator/host/node/roce_mode.h"
#include "verbs-shim/rdma_cm/route.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"
#include "wire/pkey_table.h"
#include "wire/roce_v1.h"

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

Address DevicePort::address_of(sa_family_t family, const wire::Gid& gid, std::uint16_t port) const {
  Address address{family, gid, port};
  if (address.needs_scope()) address.scope = interface_index_of(identity());
  return address;
}

Address DevicePort::address_towards(const Address& destination, const Address& source) const {
  const bool is_link_local = destination.needs_scope() || (source.needs_scope() && !destination.is_any());
  const auto gids = std::span(identity().gids).first(identity().gid_count());
  const auto found = std::ranges::find_if(gids, [](const host::PortGid& one) { return one.gid.is_link_local(); });
  if (source.family == AF_IB) {
    Address own = source;
    if (has_infiniband_gid(source.gid)) return own;
    own.gid = has_infiniband_gid(destination.gid) ? destination.gid : infiniband_gid();
    return own;
  }
  return address_of(source.family, is_link_local && found != gids.end() ? found->gid : gid(), source.port);
}

bool DevicePort::reaches(const Address& name) const {
  if (!is_infiniband()) return false;
  const host::ManagedPort port = infiniband_port();
  if (!wire::find_pkey(port.pkeys, name.name.pkey)) return false;
  return has_infiniband_gid(name.gid) ||
         (host::with_prefix(name.gid, port.subnet_prefix) == name.gid && port.state == host::kPortStateActive);
}

const wire::Encapsulation& DevicePort::default_encapsulation() const {
  if (is_infiniband()) return wire::kInfiniBand;
  return wire::encapsulation_of(host::default_roce_mode(opened_->device().config.fabric, identity()));
}

std::uint8_t DevicePort::default_traffic_class() const {
  return host::default_roce_tos(opened_->device().config.fabric, identity());
}

bool DevicePort::is_up() const {
  return engine()->run([&](nic::Nic& nic, Time) { return nic.config().port(number_).is_up; });
}

void OpenedDevices::let_go_of_removed() {
  for (const auto& one : devices_) one->let_go_if_removed();
}

std::vector<DevicePort>& OpenedDevices::all() {
  if (!devices_.empty()) return ports_;
  for (Device* const device : all_devices()) {
    devices_.push_back(std::make_unique<OpenedDevice>(*device));
    for (const host::DeviceIdentity& port : device->ports) ports_.emplace_back(*devices_.back(), port.number.port);
  }
  return ports_;
}

host::Engine* OpenedDevices::any_engine() const {
  for (const auto& one : devices_)
    if (one->engine() != nullptr) return one->engine();
  return nullptr;
}

std::vector<host::Engine*> OpenedDevices::engines() const {
  std::vector<host::Engine*> engines;
  for (const auto& one : devices_)
    if (one->engine() != nullptr) engines.push_back(one->engine());
  return engines;
}

/// Rather one that is up, as cma_bind_loopback of the kernel has it. Null: none can be opened.
DevicePort* OpenedDevices::first() {
  DevicePort* found = nullptr;
  for (DevicePort& one : all()) {
    if (!one.require()) continue;
    if (one.is_up()) return &one;
    if (found == nullptr) found = &one;
  }
  return found;
}

Result<DevicePort*, int> OpenedDevices::with(const Address& address) {
  if (address.needs_scope() && address.scope == 0) return Failure{EINVAL};
  if (address.family == AF_IB) {
    for (DevicePort& one : all())
      if (one.is_infiniband() && one.has_infiniband_gid(address.gid) && one.require()) return &one;
    return Failure{ENODEV};
  }
  DevicePort* found = nullptr;
  const auto has_it =
      std::ranges::find_if(all(), [&](const DevicePort& one) { return has_address(one.identity(), address); });
  if (has_it != ports_.end()) found = &*has_it;
  if (found == nullptr && !address.needs_scope() && !is_on_machine(address)) return Failure{EADDRNOTAVAIL};
  if (found == nullptr || !found->require()) return Failure{ENODEV};
  return found;
}

DevicePort* OpenedDevices::towards(const Address& destination) {
  if (destination.family == AF_IB) {
    // To itself, by the first one; else the port whose GID it is, or one of that subnet.
    for (DevicePort& one : all())
      if ((destination.is_any() ? one.is_infiniband() : one.reaches(destination)) && one.require()) return &one;
    return nullptr;
  }
  if (destination.is_any()) return first();
  std::vector<const host::DeviceIdentity*> identities;
  for (const DevicePort& one : all()) identities.push_back(&one.identity());
  const auto place = find_route(identities, destination);
  if (!place) return first();
  DevicePort& found = ports_[*place];
  return found.require() ? &found : nullptr;
}

std::vector<DevicePort*> OpenedDevices::at(const Address& source) {
  std::vector<DevicePort*> found;
  if (!source.is_any()) {
    if (const auto only = with(source)) found.push_back(*only);
    return found;
  }
  for (DevicePort& one : all())
    if (one.require()) found.push_back(&one);
  return found;
}

DevicePort* OpenedDevices::of(const Device& device, std::uint32_t port) {
  for (DevicePort& one : ports_)
    if (one.is(device, port)) return &one;
  return nullptr;
}

}  // namespace verbena::shim::rdma_cm
