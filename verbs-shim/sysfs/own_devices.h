// The devices of this process's node, as a list of their ports: what files below /sys, netlink and the sockets show.
//
// Solely which there are. It is taken from the environment at each call. libibverbs makes its list from the same
// environment (verbs-shim/verbs/devices.h).
// Tested by: tests/shim/sysfs/two_devices_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emulator/host/node/identity.h"

namespace verbena::path {

/// The words of VERBENA_NIC that are a device's.
std::string_view words_of(std::uint32_t device);
/// 0: the process has no device.
std::size_t own_port_count();
/// By device, then by port; past the end it is the first one.
host::DeviceIdentity own_port(std::size_t index);

}  // namespace verbena::path
