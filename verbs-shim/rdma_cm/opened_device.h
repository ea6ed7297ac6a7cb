// OpenedDevice: a verbs device that IDs of a process stand on; DevicePort: the port of it that an ID is bound to;
// OpenedDevices: all of them.
//
// Solely responsible for having a device open where an ID needs it, and no other one: it is opened at first use, and
// again once it has become another one (after a fork, or a removal); and for finding the port that has an address or
// leads to one. Guarded by the lock of the device rdma_cm.
// Tested by: tests/shim/rdma_cm/rdma_cm_devices_test.cc, tests/shim/rdma_cm/rdma_cm_two_ports_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/host/engine/engine.h"
#include "emulator/host/node/infiniband_port.h"
#include "verbs-shim/rdma_cm/administration.h"
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
  const Device& device() const { return *device_; }

 private:
  Device* device_;
  ibv_context* context_ = nullptr;
};

/// What an ID has to do with: an address, and the communication manager behind it.
class DevicePort {
 public:
  /// `number`: of the port, from 1.
  DevicePort(OpenedDevice& opened, std::uint32_t number) : opened_(&opened), number_(number) {}
  std::uint8_t number() const { return static_cast<std::uint8_t>(number_); }
  bool is(const Device& device, std::uint32_t number) const {
    return &opened_->device() == &device && number_ == number;
  }
  const host::DeviceIdentity& identity() const { return opened_->device().ports[number_ - 1]; }
  __be64 guid() const { return node_guid(opened_->device()); }
  const wire::Gid& gid() const { return identity().address; }
  bool is_infiniband() const { return identity().is_infiniband; }
  /// The address that an ID with this source has towards a destination: a link-local one where either is one and the
  /// port has one, with its interface.
  Address address_towards(const Address& destination, const Address& source) const;
  /// The same by one of the port's GIDs.
  Address address_of(sa_family_t family, const wire::Gid& gid, std::uint16_t port) const;

  /// A subnet manager gives it its LIDs.
  bool is_managed() const { return is_infiniband() && host::read_managed_port(fabric(), gid()).has_value(); }
  const std::string& fabric() const { return opened_->device().config.fabric; }
  // These are for a port on InfiniBand.
  /// The first one of its GID table, and whether a GID is any of it.
  wire::Gid infiniband_gid() const { return host::infiniband_gid(identity(), infiniband_port(), 0); }
  bool has_infiniband_gid(const wire::Gid& gid) const {
    return host::infiniband_gid_index(identity(), infiniband_port(), gid).has_value();
  }
  /// Back: the address of the port that has such a GID. One that nobody has stays what it is.
  wire::Gid node_by_gid(const wire::Gid& gid) const { return host::node_of_gid(fabric(), gid); }
  /// It is on InfiniBand, and may send to this name: the P_Key is in its table, and the GID its own, or of its subnet
  /// while it is active (cma_resolve_ib_dev).
  bool reaches(const Address& name) const;
  /// What its subnet manager has set. Of a port on InfiniBand.
  host::ManagedPort infiniband_port() const { return host::infiniband_port(fabric(), identity(), true); }
  /// What an administrator has set for connections that begin here, or the default (host/node/roce_mode.h).
  const wire::Encapsulation& default_encapsulation() const;
  std::uint8_t default_traffic_class() const;

  // As OpenedDevice.
  host::Engine* engine() const { return opened_->engine(); }
  bool require() { return opened_->require(); }

  // These are for a device that is open.
  bool is_up() const;
  template <class Call>
  auto run_connections(Call&& call) const {
    return engine()->run_connections(std::forward<Call>(call), number_);
  }
  const host::ServiceDirectory& services() const { return engine()->services(number_); }
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) const {
    return engine()->resolve(address, number_);
  }

 private:
  OpenedDevice* opened_;
  std::uint32_t number_;
};

class OpenedDevices {
 public:
  /// The devices that are not there any more are closed.
  void let_go_of_removed();
  /// Null: none is open. Allocates nothing, for who is in a handler.
  host::Engine* any_engine() const;
  /// Of the devices that are open.
  std::vector<host::Engine*> engines() const;

  // These open what they find.

  /// The one that has the address. The error is an errno value, as the kernel's rdma_bind_addr has it: EADDRNOTAVAIL,
  /// or ENODEV if an interface without a device has it, or if the device cannot be opened; EINVAL: a link-local address
  /// without its interface.
  Result<DevicePort*, int> with(const Address& address);
  /// The one by which packets to the address leave. Null: it cannot be opened; for a name of AF_IB: there is none.
  DevicePort* towards(const Address& destination);
  /// Those on which an ID with this source hears: any address is that of each that can be opened.
  std::vector<DevicePort*> at(const Address& source);

  /// Null: nothing stands on it yet.
  DevicePort* of(const Device& device, std::uint32_t port);
  /// All ports.
  auto begin() { return ports_.begin(); }
  auto end() { return ports_.end(); }

 private:
  std::vector<DevicePort>& all();
  DevicePort* first();

  // Filled once: ports point at their devices, and IDs at ports.
  std::vector<std::unique_ptr<OpenedDevice>> devices_;
  std::vector<DevicePort> ports_;
};

}  // namespace verbena::shim::rdma_cm
