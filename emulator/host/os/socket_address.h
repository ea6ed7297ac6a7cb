// Between addresses as the wire has them (Gid) and as sockets have them, and what a host knows about its own addresses.
//
// No state. Used by the UDP and the raw link.
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "wire/types.h"

namespace verbena::host {

union SocketAddress {
  sockaddr any;
  sockaddr_in ipv4;
  sockaddr_in6 ipv6;
};

/// `interface_index` is used for IPv6 addresses that are known on one link only.
SocketAddress socket_address(const wire::Gid& address, std::uint16_t port, unsigned interface_index);
socklen_t socket_address_bytes(const SocketAddress& address);
/// Nothing: another address family.
std::optional<wire::Gid> gid_of(const SocketAddress& address);
std::uint16_t port_of(const SocketAddress& address);

/// 127.0.0.0/8 and ::1.
bool is_loopback(const wire::Gid& address);

/// The interface that carries a local address. A loopback address belongs to the loopback interface, listed there or
/// not.
struct LocalInterface {
  std::string name;
  unsigned index = 0;
  std::uint32_t mtu_bytes = 0;
};
std::optional<LocalInterface> interface_of(const wire::Gid& address);

/// The largest InfiniBand MTU whose packets fit an interface with this MTU; 256 if none does.
std::uint32_t path_mtu_for(std::uint32_t interface_mtu_bytes);

}  // namespace verbena::host
