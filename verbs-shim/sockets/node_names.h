// NodeNames: which socket addresses stand for nodes of this machine, and which is this process's.
//
// Solely the translation between 127.47.91.K, as an IPv4 address or mapped into IPv6, and K.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

#include "emulator/host/node/identity.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {

/// The node that an address stands for; 0: none.
inline unsigned node_of(const in_addr& address) {
  const std::uint32_t value = ntohl(address.s_addr);
  return (value & host::kNodeNetworkMask) == host::kNodeNetwork ? value & ~host::kNodeNetworkMask : 0;
}

inline unsigned node_of(const wire::Gid& address) {
  return address.is_ipv4() ? node_of(in_addr{htonl(address.ipv4())}) : 0;
}

/// The node that a socket's name stands for; 0: none.
inline unsigned node_of(const void* name, socklen_t bytes) {
  sockaddr_in ipv4{};
  if (name == nullptr || bytes < sizeof ipv4) return 0;
  std::memcpy(&ipv4, name, sizeof ipv4);
  if (ipv4.sin_family == AF_INET) return node_of(ipv4.sin_addr);
  sockaddr_in6 ipv6{};
  if (ipv4.sin_family != AF_INET6 || bytes < sizeof ipv6) return 0;
  std::memcpy(&ipv6, name, sizeof ipv6);
  wire::Gid gid;
  std::memcpy(gid.octets.data(), &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
  return node_of(gid);
}

/// This process's node; 0: it is on none of those that share the loopback interface.
inline unsigned own_node() {
  return has_device() ? node_of(node_gid()) : 0;
}

inline in_addr address_of_node(unsigned node) {
  return {htonl(host::kNodeNetwork | node)};
}

}  // namespace verbena::path
