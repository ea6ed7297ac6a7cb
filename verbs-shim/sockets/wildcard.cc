#include "verbs-shim/sockets/wildcard.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>

#include "emulator/host/config/variables.h"
#include "verbs-shim/sockets/listeners.h"
#include "verbs-shim/sockets/node_names.h"

namespace verbena::path {
namespace {

constexpr int kMptcp = 262;
constexpr unsigned kLoopbackFirstOctet = 127;

// Marks a socket that was narrowed. The option is of packet sockets and idle in all others; every family has it.
constexpr int kMark = SO_NOFCS;

bool option(int fd, int level, int name, int& value) {
  socklen_t bytes = sizeof value;
  value = 0;
  return syscall(SYS_getsockopt, fd, level, name, &value, &bytes) == 0;
}
bool set_option(int fd, int level, int name, int value) {
  return syscall(SYS_setsockopt, fd, level, name, &value, sizeof value) == 0;
}
bool is_set(int fd, int level, int name) {
  int value = 0;
  return option(fd, level, name, value) && value != 0;
}

bool is_tcp(int fd) {
  int type = 0;
  int protocol = 0;
  return option(fd, SOL_SOCKET, SO_TYPE, type) && type == SOCK_STREAM &&
         option(fd, SOL_SOCKET, SO_PROTOCOL, protocol) && (protocol == IPPROTO_TCP || protocol == kMptcp);
}
bool is_udp(int fd) {
  int type = 0;
  int protocol = 0;
  return option(fd, SOL_SOCKET, SO_TYPE, type) && type == SOCK_DGRAM && option(fd, SOL_SOCKET, SO_PROTOCOL, protocol) &&
         (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE);
}

bool is_left_to_kernel() {
  return std::strcmp(host::variable(host::kWildcardVariable, host::kWildcardNode), host::kWildcardMachine) == 0;
}

/// An address and port of either family. Family 0: neither.
struct Name {
  sa_family_t family = 0;
  in_port_t port = 0;
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};

  Name(const void* name, socklen_t bytes) {
    sa_family_t given = 0;
    if (name == nullptr || bytes < sizeof given) return;
    std::memcpy(&given, name, sizeof given);
    if (given == AF_INET && bytes >= sizeof ipv4) {
      std::memcpy(&ipv4, name, sizeof ipv4);
      family = given;
      port = ipv4.sin_port;
    } else if (given == AF_INET6 && bytes >= sizeof ipv6) {
      std::memcpy(&ipv6, name, sizeof ipv6);
      family = given;
      port = ipv6.sin6_port;
    }
  }
  bool is_mapped() const { return family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr); }
  bool is_any() const {
    return family == AF_INET ? ipv4.sin_addr.s_addr == INADDR_ANY
                             : family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&ipv6.sin6_addr);
  }
  in_addr mapped() const {
    in_addr address{};
    std::memcpy(&address, &ipv6.sin6_addr.s6_addr[12], sizeof address);
    return address;
  }
  bool is_in_loopback_network() const {
    if (family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr)) return true;
    const in_addr address = is_mapped() ? mapped() : ipv4.sin_addr;
    return (family == AF_INET || is_mapped()) && ntohl(address.s_addr) >> 24 == kLoopbackFirstOctet;
  }
};

void name_node(sa_family_t family, in_port_t port, unsigned node, BindName& into) {
  into = {};
  if (family == AF_INET) {
    const sockaddr_in name{.sin_family = AF_INET, .sin_port = port, .sin_addr = address_of_node(node), .sin_zero = {}};
    std::memcpy(&into.name, &name, sizeof name);
    into.bytes = sizeof name;
  } else {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = port;
    const wire::Gid mapped = host::node_address(node);
    std::memcpy(&name.sin6_addr, mapped.octets.data(), mapped.octets.size());
    std::memcpy(&into.name, &name, sizeof name);
    into.bytes = sizeof name;
  }
}

// -- Another socket in place of one ----------------------------------------------------------------------------------

struct Option {
  int level;
  int name;
};
constexpr Option kNumbers[] = {
    {SOL_SOCKET, SO_REUSEPORT},
    {SOL_SOCKET, SO_BROADCAST},
    {SOL_SOCKET, SO_KEEPALIVE},
    {SOL_SOCKET, SO_OOBINLINE},
    {SOL_SOCKET, SO_PRIORITY},
    {SOL_SOCKET, SO_TIMESTAMP},
    {SOL_SOCKET, SO_TIMESTAMPNS},
    {SOL_SOCKET, SO_TIMESTAMPING},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, IP_PKTINFO},
    {IPPROTO_IP, IP_RECVTTL},
    {IPPROTO_IP, IP_RECVTOS},
    {IPPROTO_IP, IP_MULTICAST_TTL},
    {IPPROTO_IP, IP_MULTICAST_LOOP},
    {IPPROTO_IP, IP_MULTICAST_ALL},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO},
    {IPPROTO_IPV6, IPV6_MULTICAST_HOPS},
    {IPPROTO_IPV6, IPV6_MULTICAST_LOOP},
    {IPPROTO_TCP, TCP_NODELAY},
};

void copy_options(int from, int to) {
  for (const Option& one : kNumbers) {
    int wanted = 0;
    int present = 0;
    if (option(from, one.level, one.name, wanted) && option(to, one.level, one.name, present) && wanted != present)
      set_option(to, one.level, one.name, wanted);
  }
  for (const int name : {SO_RCVBUF, SO_SNDBUF}) {
    int wanted = 0;
    int present = 0;
    if (option(from, SOL_SOCKET, name, wanted) && option(to, SOL_SOCKET, name, present) && wanted != present)
      set_option(to, SOL_SOCKET, name, wanted / 2);  // the kernel doubles what it is told
  }
  for (const int name : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    timeval time{};
    socklen_t bytes = sizeof time;
    if (syscall(SYS_getsockopt, from, SOL_SOCKET, name, &time, &bytes) == 0)
      syscall(SYS_setsockopt, to, SOL_SOCKET, name, &time, sizeof time);
  }
}

bool is_narrowed(int fd) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  if (!is_set(fd, SOL_SOCKET, kMark) || is_set(fd, SOL_SOCKET, SO_ACCEPTCONN)) return false;
  if (syscall(SYS_getsockname, fd, &name, &bytes) != 0 || node_of(&name, bytes) == 0) return false;
  sockaddr_storage peer{};
  bytes = sizeof peer;
  return syscall(SYS_getpeername, fd, &peer, &bytes) != 0;
}

bool replace(int fd) {
  int domain = 0;
  int type = 0;
  int protocol = 0;
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (!option(fd, SOL_SOCKET, SO_DOMAIN, domain) || !option(fd, SOL_SOCKET, SO_TYPE, type) ||
      !option(fd, SOL_SOCKET, SO_PROTOCOL, protocol) || syscall(SYS_getsockname, fd, &storage, &bytes) != 0)
    return false;
  const Name present(&storage, bytes);
  const int flags = fcntl(fd, F_GETFL) & O_NONBLOCK;
  const int on_exec = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0;
  const auto other = static_cast<int>(syscall(SYS_socket, domain, type | SOCK_CLOEXEC, protocol));
  if (other < 0) return false;
  copy_options(fd, other);
  fcntl(other, F_SETFL, fcntl(other, F_GETFL) | flags);
  // For the moment in which both have the port.
  const int reuses = is_set(fd, SOL_SOCKET, SO_REUSEADDR) ? 1 : 0;
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(other, SOL_SOCKET, SO_REUSEADDR, 1);
  long result = -1;
  if (present.family == AF_INET) {
    const sockaddr_in all{.sin_family = AF_INET, .sin_port = present.port, .sin_addr = {INADDR_ANY}, .sin_zero = {}};
    result = syscall(SYS_bind, other, &all, sizeof all);
  } else {
    sockaddr_in6 all{};
    all.sin6_family = AF_INET6;
    all.sin6_port = present.port;
    result = syscall(SYS_bind, other, &all, sizeof all);
  }
  const bool done = result == 0 && syscall(SYS_dup3, other, fd, on_exec) >= 0;
  syscall(SYS_close, other);
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, reuses);
  return done;
}

}  // namespace

bool narrow_wildcard(int fd, const sockaddr* name, socklen_t bytes, BindName& instead) {
  const Name wanted(name, bytes);
  if (!wanted.is_any() || wanted.port == 0) return false;
  const int before = errno;
  const unsigned node = own_node();
  // A name of all addresses that IPv6 alone has: the node has no address there.
  const bool is_narrow = node != 0 && !is_left_to_kernel() && (is_tcp(fd) || is_udp(fd)) &&
                         !is_set(fd, SOL_SOCKET, SO_BROADCAST) &&
                         (wanted.family == AF_INET || !is_set(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  if (is_narrow) name_node(wanted.family, wanted.port, node, instead);
  errno = before;
  return is_narrow;
}

void mark_narrowed(int fd) {
  const int before = errno;
  set_option(fd, SOL_SOCKET, kMark, 1);
  errno = before;
}

bool is_narrowed_datagram(int fd) {
  const int before = errno;
  const bool is_one = is_udp(fd) && is_narrowed(fd);
  errno = before;
  return is_one;
}

bool widen(int fd) {
  const int before = errno;
  const bool done = own_node() != 0 && is_narrowed(fd) && replace(fd);
  errno = before;
  return done;
}

void hear_groups(int fd) {
  const int before = errno;
  if (own_node() != 0) {
    widen(fd);
    // Whoever joins before it binds is not narrowed then.
    if (is_udp(fd)) set_option(fd, SOL_SOCKET, SO_BROADCAST, 1);
  }
  errno = before;
}

bool is_outside(const sockaddr* name, socklen_t bytes) {
  const Name to(name, bytes);
  return to.family != 0 && !to.is_any() && !to.is_in_loopback_network();
}

bool own_name_for(int fd, const sockaddr* name, socklen_t bytes, BindName& instead) {
  const Name to(name, bytes);
  if (to.family == 0 || to.port == 0 || node_of(name, bytes) != 0) return false;
  if (!to.is_any() && !to.is_in_loopback_network()) return false;
  const int before = errno;
  const unsigned node = own_node();
  const bool is_ours = node != 0 && !is_left_to_kernel() && is_tcp(fd) &&
                       (to.family == AF_INET || !is_set(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  if (is_ours) name_node(to.family, to.port, node, instead);
  errno = before;
  return is_ours;
}

bool is_further_address(in_addr address) {
  const auto network = network_of(address);
  return network && *network != host::DeviceNumber{};
}

bool first_name_for(const void* name, socklen_t bytes, BindName& first) {
  const Name to(name, bytes);
  const auto address = ipv4_of(name, bytes);
  if (!address || !is_further_address(*address) || to.port == 0) return false;
  name_node(to.family, to.port, node_of(*address), first);
  return true;
}

bool first_name_for_datagram(const void* name, socklen_t bytes, BindName& first) {
  if (!first_name_for(name, bytes, first)) return false;
  const Name to(name, bytes);
  const in_addr address = *ipv4_of(name, bytes);
  return is_heard_at_first(address, address_of_node(node_of(address)), to.port);
}

}  // namespace verbena::path
