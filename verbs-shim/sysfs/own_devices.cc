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

/// What VERBENA_NIC says of a setting (nic_tuning.h); empty: nothing. libibverbs tells the user of a wrong one.
std::string_view nic_setting(std::string_view name) {
  std::string_view words = host::variable(host::kNicVariable, "");
  while (!words.empty()) {
    const std::string_view word = fabric::first_of(words, std::min(words.find(' '), words.size()));
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return fabric::rest_of(word, name.size() + 1);
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return {};
}

std::uint64_t port_rate() {
  return fabric::parse_rate(nic_setting("speed")).value_or(host::kPortRateDefault);
}

const wire::WireKind& own_wire() {
  const wire::WireKind* const kind = wire::find_wire_kind(nic_setting("wire"));
  return kind == nullptr ? wire::kWireKindDefault : *kind;
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
                          .wire = own_wire(),
                          .bits_per_second = port_rate(),
                          .first_port = devices.addresses[devices.place({number.device, 1})],
                          .rail = devices.rail(place)});
}

}  // namespace verbena::path
