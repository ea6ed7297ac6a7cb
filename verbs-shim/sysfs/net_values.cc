#include "verbs-shim/sysfs/net_values.h"

#include <cstdint>
#include <cstdio>

#include "emulator/host/node/own_interface.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {
namespace {

std::size_t finish(int written, std::size_t size) {
  if (written < 0) return 0;
  return static_cast<std::size_t>(written) < size ? static_cast<std::size_t>(written) : size - 1;
}

std::size_t write_number(char* into, std::size_t size, std::uint64_t value) {
  return finish(std::snprintf(into, size, "%llu\n", static_cast<unsigned long long>(value)), size);
}

}  // namespace

bool has_own_interface(const host::DeviceIdentity& of, unsigned) {
  return of.own_interface != nullptr;
}

bool has_interface_of_machine(const host::DeviceIdentity& of, unsigned) {
  return of.own_interface == nullptr;
}

std::size_t write_mac(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const auto mac = of.mac.octets;
  return finish(
      std::snprintf(into, size, "%02x:%02x:%02x:%02x:%02x:%02x\n", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]),
      size);
}

std::size_t write_interface_index(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const host::OwnInterface* const own = of.own_interface;
  return own == nullptr ? 0 : write_number(into, size, own->index);
}

std::size_t write_interface_mtu(char* into, std::size_t size, const host::DeviceIdentity&, unsigned) {
  return write_number(into, size, host::kOwnMtuBytes);
}

std::size_t write_interface_port(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, of.number.port - 1);
}

std::size_t write_interface_speed(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, rate_of_port(of) / 1'000'000);
}

std::size_t write_carrier(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return write_number(into, size, port_is_up(of) ? 1 : 0);
}

// The words of net/core/net-sysfs.c.
std::size_t write_operational_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", port_is_up(of) ? "up" : "down"), size);
}

std::size_t write_interface_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const host::OwnInterface* const own = of.own_interface;
  if (own == nullptr) return 0;
  return finish(std::snprintf(into, size, "INTERFACE=%s\nIFINDEX=%u\n", own->name.c_str(), own->index), size);
}

}  // namespace verbena::path
