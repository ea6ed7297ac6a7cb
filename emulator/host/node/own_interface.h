// OwnInterface: the network interface that a node on the loopback interface has, and no kernel knows.
//
// Solely what is the same of all of them. Which device has one, and its name and index, is part of the device's
// identity (identity.h). A node that is an address of one of the machine's interfaces has that one instead
// (network_device.h). The files below /sys and the program's own questions (verbs-shim/sockets/interface_calls.cc) must
// agree. libc only: the path shim includes it.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <cstdint>

#include "emulator/host/node/identity.h"

namespace verbena::host {

inline constexpr unsigned kOwnPrefixBits = 24;
static_assert(kNodeNetworkMask == ~std::uint32_t{0} << (32 - kOwnPrefixBits));
inline constexpr unsigned kOwnMtuBytes = 9000;  // room for RoCE's 4096 and its headers

}  // namespace verbena::host
