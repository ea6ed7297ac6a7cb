// NodeNames: which socket addresses stand for nodes of this machine, and which is this process's.
//
// Solely the translation between 127.47.91.K, as an IPv4 address or mapped into IPv6, and K.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

#include "verbs-shim/path/values.h"

namespace verbena::path {

inline constexpr std::uint32_t kNodesPrefix = 0x7f2f5b00;  // 127.47.91.0/24
inline constexpr std::uint32_t kNodesMask = 0xffffff00;
inline constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// The node that an address stands for; 0: none.
inline unsigned node_of(const in_addr& address) {
  const std::uint32_t host = ntohl(address.s_addr);
  return (host & kNodesMask) == kNodesPrefix ? host & ~kNodesMask : 0;
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
  if (std::memcmp(&ipv6.sin6_addr, kMappedPrefix, sizeof kMappedPrefix) != 0) return 0;
  std::memcpy(&ipv4.sin_addr, &ipv6.sin6_addr.s6_addr[12], sizeof ipv4.sin_addr);
  return node_of(ipv4.sin_addr);
}

/// This process's node; 0: it is none of those that share the loopback interface.
inline unsigned own_node() {
  const Octets gid = node_gid();
  if (std::memcmp(gid.data(), kMappedPrefix, sizeof kMappedPrefix) != 0) return 0;
  in_addr own;
  std::memcpy(&own, &gid[12], sizeof own);
  return node_of(own);
}

inline in_addr address_of_node(unsigned node) {
  return {htonl(kNodesPrefix | node)};
}

}  // namespace verbena::path
