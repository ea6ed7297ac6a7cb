// OwnAddresses: the names and flags of the node's own interface, in the forms that programs ask for.
//
// Solely the forms; the facts are own_interface.h's.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>

#include "emulator/host/node/own_interface.h"
#include "verbs-shim/sockets/node_names.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {

inline constexpr unsigned kLowerUp = 1u << 16;  // IFF_LOWER_UP of linux/if.h, which libc's header has not

inline unsigned interface_flags() {
  const unsigned always = IFF_UP | IFF_BROADCAST | IFF_MULTICAST;
  return port_is_up(own_port(0)) ? always | IFF_RUNNING | kLowerUp : always;
}

inline in_addr interface_address() {
  return address_of_node(own_node());
}
inline in_addr interface_netmask() {
  return {htonl(host::kNodeNetworkMask)};
}
inline in_addr interface_broadcast() {
  return {htonl(host::kNodeNetwork | ~host::kNodeNetworkMask)};
}

inline wire::MacAddress interface_mac() {
  return own_port(0).mac;
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
