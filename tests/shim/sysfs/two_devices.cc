// In place of own_devices.cc: a node with two devices, the second of which has two ports.
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/variables.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {
constexpr host::DeviceNumber kPorts[] = {{0, 1}, {1, 1}, {1, 2}};
constexpr std::size_t kPortCount = sizeof kPorts / sizeof kPorts[0];
}  // namespace

std::string_view words_of(std::uint32_t) {
  return {};
}

std::size_t own_port_count() {
  return has_device() ? kPortCount : 0;
}

host::DeviceIdentity own_port(std::size_t index) {
  return host::device_of(node_gid(), kPorts[index < kPortCount ? index : 0],
                         {.name = host::variable(host::kDeviceNameVariable, host::kDeviceNameDefault),
                          .has_link_local = link_kind().has_link_local});
}

}  // namespace verbena::path
