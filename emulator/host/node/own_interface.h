// OwnInterface: the network interface that a node on the loopback interface has, and no kernel knows.
//
// Solely its facts: which node has one, its name, index and network, and where on the PCI bus its device stands. A node
// that is an address of one of the machine's interfaces has that one instead (network_device.h). The verbs, the files
// below /sys and the program's own questions (verbs-shim/sockets/interface_calls.cc) must agree. libc only: the path
// shim includes it. A device is a row.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulator/host/node/identity.h"

namespace verbena::host {

struct OwnInterface {
  const char* name;
  std::uint32_t index;      // far from what a kernel gives: it counts from 1
  const char* bus_address;  // in a PCI domain that no machine has
};
#define VERBENA_PCI_DOMAIN "5642"  // as text, for the table of files (verbs-shim/sysfs/nodes.h)
#define VERBENA_PCI_ADDRESS VERBENA_PCI_DOMAIN ":00:00.0"
inline constexpr OwnInterface kOwnInterfaces[] = {{"verbena0", 0x56420000, VERBENA_PCI_ADDRESS}};

inline constexpr unsigned kOwnPrefixBits = 24;
static_assert(kNodeNetworkMask == ~std::uint32_t{0} << (32 - kOwnPrefixBits));
inline constexpr unsigned kOwnMtuBytes = 9000;  // room for RoCE's 4096 and its headers

/// Null: the node's address is an interface's of the machine, or on its way to become one.
constexpr const OwnInterface* own_interface_of(const wire::Gid& node) {
  return node_number(node) ? &kOwnInterfaces[0] : nullptr;
}

}  // namespace verbena::host
