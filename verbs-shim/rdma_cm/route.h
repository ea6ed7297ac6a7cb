// Routes: by which of a node's devices an address is reached.
//
// Solely responsible for what the kernel's routing table says of it (ip_route_output below rdma_resolve_addr): the
// device that has the address itself, else the one in whose network it is. A node of the loopback interface has a
// network of its own on each device, which no kernel knows; of interfaces of the machine its kernel is asked. Whether
// the device can be opened, and whether anybody is there, is not known here.
// Tested by: tests/shim/rdma_cm/rdma_cm_route_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "emulator/host/node/identity.h"
#include "verbs-shim/rdma_cm/id.h"

namespace verbena::shim::rdma_cm {

/// Whether the address is one of the device's; a link-local one is together with its interface.
bool has_address(const host::DeviceIdentity& device, const Address& address);

/// The number of its network interface; 0: it has none.
std::uint32_t interface_index_of(const host::DeviceIdentity& device);

/// The place of the device among these. Nothing: the address is in nobody's network.
std::optional<std::size_t> find_route(std::span<const host::DeviceIdentity* const> devices, const Address& destination);

}  // namespace verbena::shim::rdma_cm
