#include "verbs-shim/sysfs/own_devices.h"

#include <cstdint>
#include <cstring>

#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/port_facts.h"
#include "emulator/host/config/variables.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {

const wire::WireKind& wire_of(std::string_view words) {
  const std::string_view word = host::nic_word(words, "wire");
  const wire::WireKind* const kind = wire::find_wire_kind(word);
  return kind == nullptr ? wire::kWireKindDefault : *kind;
}

/// One device where the environment is wrong.
host::OwnDevices own_devices() {
  const host::OwnDevices devices = host::own_devices();
  return devices.kind == host::OwnDevices::Kind::known ? devices : host::OwnDevices{};
}

}  // namespace

std::string_view words_of(std::uint32_t device) {
  return host::words_of_device(host::variable(host::kNicVariable, ""), device);
}

std::size_t own_port_count() {
  return has_device() ? own_devices().port_count() : 0;
}

host::DeviceIdentity own_port(std::size_t index) {
  const host::OwnDevices devices = own_devices();
  const auto place = index < devices.port_count() ? static_cast<std::uint32_t>(index) : 0;
  const host::DeviceNumber number = devices.number(place);
  const host::PortFacts facts =
      host::port_facts(devices, place, host::variable(host::kNicVariable, ""), host::variable(host::kLinkVariable, ""));
  const std::string_view words = words_of(number.device);
  const char* const name = host::variable(host::kDeviceNameVariable, host::kDeviceNameDefault);
  return host::device_at(devices.addresses[place], number,
                         {.name = std::strchr(name, '/') == nullptr ? name : host::kDeviceNameDefault,
                          .interface = host::link_of_port(host::variable(host::kLinkVariable, ""), place).interface,
                          .has_link_local = link_kind().has_link_local,
                          .wire = wire_of(words),
                          .bits_per_second = facts.bits_per_second.value_or(host::kPortRateDefault),
                          .numa_node = facts.numa_node,
                          .first_port = devices.addresses[devices.place({number.device, 1})],
                          .rail = devices.rail(place),
                          .gids = host::nic_word(words, "gids")});
}

}  // namespace verbena::path
