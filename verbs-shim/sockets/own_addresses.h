// OwnAddresses: the node's own interfaces, one for each port of its devices on the loopback interface: their names and
// flags in the forms that programs ask for.
//
// Solely the forms; the facts are identity.h's and own_interface.h's.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/host/node/own_interface.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {

inline constexpr unsigned kLowerUp = 1u << 16;  // IFF_LOWER_UP of linux/if.h, which libc's header has not

/// The first of the ports that have an own interface and of which this holds; nothing: there is none.
template <class Wanted>
std::optional<host::DeviceIdentity> find_own_interface(Wanted is_wanted) {
  const std::size_t ports = own_port_count();
  for (std::size_t i = 0; i < ports; ++i)
    if (const host::DeviceIdentity of = own_port(i); of.own_interface != nullptr && is_wanted(of)) return of;
  return std::nullopt;
}
inline std::optional<host::DeviceIdentity> own_interface_at(std::uint32_t index) {
  return find_own_interface([&](const host::DeviceIdentity& of) { return of.own_interface->index == index; });
}
/// A name longer than any interface's is none.
inline std::optional<host::DeviceIdentity> own_interface_named(const char* name) {
  return find_own_interface([&](const host::DeviceIdentity& of) {
    return std::strncmp(of.own_interface->name.c_str(), name, IF_NAMESIZE) == 0;
  });
}
/// In the order of the devices.
template <class Tell>
void for_each_own_interface(Tell tell) {
  find_own_interface([&](const host::DeviceIdentity& of) { return tell(of), false; });
}
inline bool has_own_interfaces() {
  return find_own_interface([](const host::DeviceIdentity&) { return true; }).has_value();
}

inline unsigned interface_flags(const host::DeviceIdentity& of) {
  const unsigned always = IFF_UP | IFF_BROADCAST | IFF_MULTICAST;
  return port_is_up(of) ? always | IFF_RUNNING | kLowerUp : always;
}

inline in_addr interface_address(const host::DeviceIdentity& of) {
  return {htonl(of.address.ipv4())};
}
inline in_addr interface_netmask() {
  return {htonl(host::kNodeNetworkMask)};
}
inline in_addr interface_network(const host::DeviceIdentity& of) {
  return {htonl(of.address.ipv4() & host::kNodeNetworkMask)};
}
inline in_addr interface_broadcast(const host::DeviceIdentity& of) {
  return {htonl(of.address.ipv4() | ~host::kNodeNetworkMask)};
}

inline constexpr wire::MacAddress kBroadcastMac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

inline sockaddr_in socket_name(in_addr address) {
  return {.sin_family = AF_INET, .sin_port = 0, .sin_addr = address, .sin_zero = {}};
}

inline sockaddr_ll link_name(const host::OwnInterface& own, const wire::MacAddress& mac) {
  sockaddr_ll name{};
  name.sll_family = AF_PACKET;
  name.sll_ifindex = static_cast<int>(own.index);
  name.sll_hatype = ARPHRD_ETHER;
  name.sll_halen = sizeof mac.octets;
  std::copy(mac.octets.begin(), mac.octets.end(), name.sll_addr);
  return name;
}

}  // namespace verbena::path
