#include "emulator/host/link/udp/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cstring>

#include "emulator/host/os/socket_address.h"
#include "emulator/host/os/socket_option.h"

namespace verbena::host {
namespace {

constexpr int kReceiveBufferBytes = 16 << 20;
constexpr int kSendBufferBytes = 4 << 20;
/// Where a frame says nothing else: the hop limit of unicast packets (udp_transmitter.cc), so that both are sent alike.
constexpr int kGroupHopLimit = 64;

void set_ipv4_options(int socket, bool loopback) {
  set_option(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  set_option(socket, IPPROTO_IP, IP_RECVTOS, 1);
  set_option(socket, IPPROTO_IP, IP_RECVTTL, 1);
  // Segmentation needs the checksum that RoCE v2 leaves out.
  if (!loopback) set_option(socket, SOL_SOCKET, SO_NO_CHECK, 1);
}

void set_ipv6_options(int socket, bool loopback) {
  set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_option(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  set_option(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  set_option(socket, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  constexpr int kNoCheckTx =
      101;  // UDP_NO_CHECK6_TX and UDP_NO_CHECK6_RX of linux/udp.h, which clashes with netinet/udp.h
  constexpr int kNoCheckRx = 102;
  set_option(socket, SOL_UDP, kNoCheckRx, 1);
  if (!loopback) set_option(socket, SOL_UDP, kNoCheckTx, 1);
}

/// An interface by its number, or where that is not known by the node's address.
ip_mreqn ipv4_interface(const wire::Gid& node, unsigned interface_index) {
  ip_mreqn interface{};
  interface.imr_address.s_addr = htonl(node.ipv4());
  interface.imr_ifindex = static_cast<int>(interface_index);
  return interface;
}

}  // namespace

int open_udp_socket(const wire::Gid& node) {
  const int socket = ::socket(node.is_ipv4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return socket;
  const bool loopback = is_loopback(node);
  node.is_ipv4() ? set_ipv4_options(socket, loopback) : set_ipv6_options(socket, loopback);
  enlarge_receive_buffer(socket, kReceiveBufferBytes);
  enlarge_send_buffer(socket, kSendBufferBytes);
  set_option(socket, SOL_UDP, UDP_GRO, 1);
  return socket;
}

void let_send_to_groups(int socket, const wire::Gid& node, unsigned interface_index) {
  if (node.is_ipv4()) {
    const ip_mreqn interface = ipv4_interface(node, interface_index);
    ::setsockopt(socket, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof interface);
    set_option(socket, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
    set_option(socket, IPPROTO_IP, IP_MULTICAST_TTL, kGroupHopLimit);
  } else {
    set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface_index));
    set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
    set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, kGroupHopLimit);
  }
}

bool join_group(int socket, const wire::Gid& node, const wire::Gid& group, unsigned interface_index) {
  if (node.is_ipv4()) {
    // Else what any other program of the machine has joined elsewhere would come as well.
    set_option(socket, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    ip_mreqn membership = ipv4_interface(node, interface_index);
    membership.imr_multiaddr.s_addr = htonl(group.ipv4());
    return ::setsockopt(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) == 0;
  }
  set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
  ipv6_mreq membership{};
  std::memcpy(&membership.ipv6mr_multiaddr, group.octets.data(), group.octets.size());
  membership.ipv6mr_interface = interface_index;
  return ::setsockopt(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, &membership, sizeof membership) == 0;
}

}  // namespace verbena::host
