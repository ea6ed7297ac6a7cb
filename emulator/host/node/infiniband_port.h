// The state of a port on InfiniBand, as the verbs (query_port) and the files below /sys/class/infiniband show it.
//
// Solely the choice between what a subnet manager has set (managed_port.h) and what a port has where there is no
// manager: a LID that follows from its address, and the state that its cable gives it. libc only, for the path shim.
// Tested by: tests/host/node/infiniband_port_test.cc
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/managed_port.h"
#include "emulator/host/node/port_rate.h"
#include "emulator/host/node/port_speed.h"
#include "wire/headers.h"
#include "wire/subnet_management.h"

namespace verbena::host {

// Values of PortInfo (IBA volume 1, 14.2.5.6).
inline constexpr std::uint8_t kPortStateDown = 1;
inline constexpr std::uint8_t kPortStateActive = 4;
inline constexpr std::uint8_t kPhysicalStatePolling = 2;
inline constexpr std::uint8_t kPhysicalStateLinkUp = 5;

/// A port of a fabric without a manager. `has_signal`: whether its cable has one.
constexpr ManagedPort unmanaged_port(const DeviceIdentity& of, bool has_signal, std::uint64_t bits_per_second) {
  ManagedPort port;
  const PortSpeed speed = port_speed(bits_per_second);
  port.base_lid = of.lid.value();
  port.sm_lid = kStaticManagerLid.value();
  port.state = has_signal ? kPortStateActive : kPortStateDown;
  port.physical_state = has_signal ? kPhysicalStateLinkUp : kPhysicalStatePolling;
  port.capability_mask = wire::kCapabilitiesHere;
  port.width = speed.width;
  port.speed = speed.speed;
  port.pkeys[0] = wire::kPkeyDefault;
  for (std::size_t level = 0; level < port.lane_of_level.size(); ++level)
    port.lane_of_level[level] = static_cast<std::uint8_t>(level % 8);
  return port;
}

/// `of` is a port on InfiniBand.
inline ManagedPort infiniband_port(std::string_view fabric, const DeviceIdentity& of, bool has_signal) {
  if (const auto managed = read_managed_port(fabric, of.address)) return *managed;
  return unmanaged_port(of, has_signal, rate_of_port(fabric, of));
}

/// Of the port that has this address. kLidNone: its manager has given it none.
inline wire::Lid lid_of_port(std::string_view fabric, const wire::Gid& address) {
  const auto managed = read_managed_port(fabric, address);
  return managed ? wire::Lid(managed->base_lid) : static_lid(address);
}

}  // namespace verbena::host
