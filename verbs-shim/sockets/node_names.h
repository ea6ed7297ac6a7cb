// NodeNames: which socket addresses stand for nodes of this machine, and which are this process's.
//
// Solely the translation between the addresses of node K's devices (identity.h), as IPv4 addresses or mapped into IPv6,
// and K.
// Tested by: tests/shim/sockets/own_interface_test.cc, tests/shim/sockets/two_networks_test.cc
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "emulator/host/node/identity.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {

/// The IPv4 address in a socket's name; nothing: it has none.
inline std::optional<in_addr> ipv4_of(const void* name, socklen_t bytes) {
  sockaddr_in ipv4{};
  if (name == nullptr || bytes < sizeof ipv4) return std::nullopt;
  std::memcpy(&ipv4, name, sizeof ipv4);
  if (ipv4.sin_family == AF_INET) return ipv4.sin_addr;
  sockaddr_in6 ipv6{};
  if (ipv4.sin_family != AF_INET6 || bytes < sizeof ipv6) return std::nullopt;
  std::memcpy(&ipv6, name, sizeof ipv6);
  wire::Gid gid;
  std::memcpy(gid.octets.data(), &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
  return gid.is_ipv4() ? std::optional(in_addr{htonl(gid.ipv4())}) : std::nullopt;
}

/// The network of the nodes in which an address is; nothing: in none.
inline std::optional<host::DeviceNumber> network_of(const in_addr& address) {
  return host::device_network_of(ntohl(address.s_addr));
}

/// The node that an address stands for; 0: none.
inline unsigned node_of(const in_addr& address) {
  return network_of(address) ? ntohl(address.s_addr) & ~host::kNodeNetworkMask : 0;
}

inline unsigned node_of(const wire::Gid& address) {
  return address.is_ipv4() ? node_of(in_addr{htonl(address.ipv4())}) : 0;
}

/// The node that a socket's name stands for; 0: none.
inline unsigned node_of(const void* name, socklen_t bytes) {
  const auto address = ipv4_of(name, bytes);
  return address ? node_of(*address) : 0;
}

/// This process's node; 0: it is on none of those that share the loopback interface.
inline unsigned own_node() {
  return has_device() ? node_of(node_gid()) : 0;
}

/// That of its first device.
inline in_addr address_of_node(unsigned node) {
  return {htonl(host::kNodeNetwork | node)};
}

/// The address from which this process's node, `own`, reaches another: that of its port in the same network, else its
/// first one.
inline in_addr own_address_towards(const in_addr& to, unsigned own) {
  const auto network = network_of(to);
  const std::size_t ports = network && *network != host::DeviceNumber{} ? own_port_count() : 0;
  for (std::size_t i = 0; i < ports; ++i)
    if (const host::DeviceIdentity of = own_port(i);
        of.own_interface != nullptr && host::device_network_of(of.address) == network)
      return {htonl(of.address.ipv4())};
  return address_of_node(own);
}

}  // namespace verbena::path
