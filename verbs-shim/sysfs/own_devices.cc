#include "verbs-shim/sysfs/own_devices.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "emulator/fabric/scaled_number.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/variables.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {

/// The speed= of VERBENA_NIC (nic_tuning.h); libibverbs tells the user of a wrong one.
std::uint64_t port_rate() {
  constexpr std::string_view kSpeed = "speed=";
  std::string_view words = host::variable(host::kNicVariable, "");
  while (!words.empty()) {
    const std::string_view word = fabric::first_of(words, std::min(words.find(' '), words.size()));
    if (word.starts_with(kSpeed))
      return fabric::parse_rate(fabric::rest_of(word, kSpeed.size())).value_or(host::kPortRateDefault);
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return host::kPortRateDefault;
}

/// One device where the environment is wrong.
host::OwnDevices own_devices() {
  const host::OwnDevices devices = host::own_devices();
  return devices.kind == host::OwnDevices::Kind::known ? devices : host::OwnDevices{};
}

}  // namespace

std::size_t own_port_count() {
  return has_device() ? own_devices().port_count() : 0;
}

host::DeviceIdentity own_port(std::size_t index) {
  const host::OwnDevices devices = own_devices();
  const auto place = index < devices.port_count() ? static_cast<std::uint32_t>(index) : 0;
  const host::DeviceNumber number = devices.number(place);
  const char* const name = host::variable(host::kDeviceNameVariable, host::kDeviceNameDefault);
  return host::device_at(devices.addresses[place], number,
                         {.name = std::strchr(name, '/') == nullptr ? name : host::kDeviceNameDefault,
                          .interface = host::link_of_port(host::variable(host::kLinkVariable, ""), place).interface,
                          .has_link_local = link_kind().has_link_local,
                          .bits_per_second = port_rate(),
                          .first_port = devices.addresses[devices.place({number.device, 1})],
                          .rail = devices.rail(place)});
}

}  // namespace verbena::path
