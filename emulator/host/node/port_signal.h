// PortSignal: what every process of a node can find out by itself about the cable at the node's port, in a fabric that
// a fabric process serves.
//
// Solely responsible for two names that the fabric process holds: verbena-port/UID/FABRIC as long as it serves, and the
// same with /GID (in hex) as long as that node's port has no signal. Processes that are plugged in are told of changes
// besides (Notice, link.h); these names are for those who come later, and for those who only read sysfs. When a port
// has a signal is said by fabric::Network. libc only: the path shim includes it.
// Tested by: tests/host/os/name_holder_test.cc, tests/shim/sysfs/path_test.cc
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/name_owner.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {

inline AbstractName served_fabric_name(const char* fabric) {
  return AbstractName("verbena-port/%u/%s", own_user(), fabric);
}

inline AbstractName dead_port_name(const char* fabric, const std::array<std::uint8_t, 16>& gid) {
  std::uint64_t halves[2] = {};
  for (std::size_t i = 0; i < gid.size(); ++i) halves[i / 8] = halves[i / 8] << 8 | gid[i];
  return AbstractName("verbena-port/%u/%s/%016llx%016llx", own_user(), fabric,
                      static_cast<unsigned long long>(halves[0]), static_cast<unsigned long long>(halves[1]));
}

// Names that another user holds say nothing.
inline bool is_served(const char* fabric) {
  return is_held_by_us(served_fabric_name(fabric));
}
inline bool has_dead_port(const char* fabric, const std::array<std::uint8_t, 16>& gid) {
  return is_held_by_us(dead_port_name(fabric, gid));
}

}  // namespace verbena::host
