// Hooks: connect(), sendto(), sendmsg() and sendmmsg(), so that what a program sends to a node comes from its own node.
//
// Solely responsible for the source address of a program's own TCP connections and UDP datagrams to nodes, and for the
// second address that is tried. All of 127/8 is the loopback interface's, and its route names 127.0.0.1 as the source
// of everything; on machines of their own programs would find, and show to others, the address that the node has in the
// peer's network. Datagram rsockets (librdmacm) learn in this way who they are, and where to send the answer; and the
// network can cut the sockets of two nodes (socket_paths.h). A socket that is bound to an address keeps it, but for one
// that was given the node's in place of all (wildcard.h): it has to reach beyond the machine, and answers from the
// address that it was asked at. What listens on all of a node's addresses does so at the first: there a connection to
// 127.0.0.1 or to the address of a further device finds it. The packets of the emulated network are not meant here.
// Tested by: tests/shim/sysfs/path_test.cc, tests/shim/sockets/two_networks_test.cc
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "verbs-shim/sockets/netlink.h"
#include "verbs-shim/sockets/node_names.h"
#include "verbs-shim/sockets/socket_paths.h"
#include "verbs-shim/sockets/wildcard.h"
#include "verbs-shim/sysfs/real.h"

using verbena::path::BindName;
using verbena::path::ipv4_of;
using verbena::path::node_of;
using verbena::path::own_address_towards;
using verbena::path::own_node;

namespace {

/// A socket that has no address; past all hooks.
struct Addressless {
  int family = 0;
  int type = 0;
  in_port_t port = 0;
};

/// Nothing: the socket has an address, or is no datagram or stream socket of IP. Keeps errno.
std::optional<Addressless> find_addressless(int fd) {
  const int before = errno;
  Addressless found;
  socklen_t bytes = sizeof found.type;
  sockaddr_storage name{};
  socklen_t name_bytes = sizeof name;
  bool fits = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &found.type, &bytes) == 0 &&
              (found.type == SOCK_DGRAM || found.type == SOCK_STREAM) &&
              syscall(SYS_getsockname, fd, &name, &name_bytes) == 0;
  errno = before;
  found.family = name.ss_family;
  if (fits && found.family == AF_INET) {
    sockaddr_in ipv4;
    std::memcpy(&ipv4, &name, sizeof ipv4);
    found.port = ipv4.sin_port;
    fits = ipv4.sin_addr.s_addr == INADDR_ANY;
  } else if (fits && found.family == AF_INET6) {
    sockaddr_in6 ipv6;
    std::memcpy(&ipv6, &name, sizeof ipv6);
    found.port = ipv6.sin6_port;
    fits = std::memcmp(&ipv6.sin6_addr, &in6addr_any, sizeof in6addr_any) == 0;
  } else {
    fits = false;
  }
  return fits ? std::optional(found) : std::nullopt;
}

/// Binds a socket that is about to connect to an address of its node, whichever port it gets. Keeps errno.
void bind_to(int fd, const Addressless& socket, in_addr own) {
  const int before = errno;
  // The kernel chooses the port when it knows the peer: as many connections as without bind().
  const int on = 1;
  if (socket.type == SOCK_STREAM) syscall(SYS_setsockopt, fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (socket.family == AF_INET) {
    const sockaddr_in name{.sin_family = AF_INET, .sin_port = 0, .sin_addr = own, .sin_zero = {}};
    syscall(SYS_bind, fd, &name, sizeof name);
  } else {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    const auto mapped = verbena::wire::Gid::from_ipv4(ntohl(own.s_addr));
    std::memcpy(&name.sin6_addr, mapped.octets.data(), mapped.octets.size());
    syscall(SYS_bind, fd, &name, sizeof name);
  }
  errno = before;
}

/// Whether the datagrams of this socket need their node's address given to them. `is_further`: they go to the network
/// of a further device, and so does what has all of the node's addresses.
bool needs_source(int fd, bool is_further) {
  if (const auto socket = find_addressless(fd)) return socket->type == SOCK_DGRAM && socket->family == AF_INET;
  return is_further && verbena::path::is_narrowed_datagram(fd);
}

/// A message with the node's address as its source, where the program has left it to the kernel which; and to where it
/// is heard.
class FromNode {
 public:
  FromNode(int fd, const msghdr& message) : message_(message) {
    if (node_of(message.msg_name, message.msg_namelen) == 0) return;
    verbena::path::follow_network(fd);
    const unsigned own = own_node();
    if (own == 0) return;
    const in_addr to = *ipv4_of(message.msg_name, message.msg_namelen);
    const bool is_further = verbena::path::is_further_address(to);
    if (is_further && verbena::path::first_name_for_datagram(message.msg_name, message.msg_namelen, first_))
      message_.msg_name = &first_.name;
    if (message.msg_controllen != 0 || !needs_source(fd, is_further)) return;
    in_pktinfo source{};
    source.ipi_spec_dst = own_address_towards(to, own);
    message_.msg_control = control_;
    message_.msg_controllen = sizeof control_;
    cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof source);
    std::memcpy(CMSG_DATA(header), &source, sizeof source);
  }
  FromNode(const FromNode&) = delete;
  FromNode& operator=(const FromNode&) = delete;
  const msghdr* message() const { return &message_; }

 private:
  msghdr message_;
  BindName first_;
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(in_pktinfo))] = {};
};

}  // namespace

namespace {
int connect_to_node(int fd, const sockaddr* to, socklen_t bytes);
int connect_to_either(int fd, const sockaddr* to, socklen_t bytes, const BindName& second);
}  // namespace

VERBENA_HOOK(int, connect, (int fd, const sockaddr* to, socklen_t bytes)) {
  BindName own_name;
  if (node_of(to, bytes) != 0) return connect_to_node(fd, to, bytes);
  if (verbena::path::is_outside(to, bytes))
    verbena::path::widen(fd);
  else if (verbena::path::own_name_for(fd, to, bytes, own_name))
    return connect_to_either(fd, to, bytes, own_name);
  return VERBENA_REAL(connect)(fd, to, bytes);
}

namespace {

/// Whether a connection that was not to be waited for has failed already: on the loopback interface the refusal is
/// there when connect() returns.
bool has_failed_at_once(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  const timespec none{};
  return syscall(SYS_ppoll, &entry, 1, &none, nullptr, 0) == 1 && (entry.revents & (POLLERR | POLLHUP)) != 0;
}

bool is_stream(int fd) {
  const int before = errno;
  int type = 0;
  socklen_t bytes = sizeof type;
  const bool is_one = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
  errno = before;
  return is_one;
}

/// What listens at the address itself comes first; where nobody does, what listens on all of the node's: to 127.0.0.1,
/// a machine's own address, and to the address of a further device.
int connect_to_either(int fd, const sockaddr* to, socklen_t bytes, const BindName& second) {
  const int before = errno;
  int result = VERBENA_REAL(connect)(fd, to, bytes);
  if (result != 0 && errno == EINPROGRESS) {
    if (!has_failed_at_once(fd)) return errno = EINPROGRESS, -1;
    result = VERBENA_REAL(connect)(fd, to, bytes);  // says why, and makes the socket one that can connect again
  }
  if (result == 0 || errno != ECONNREFUSED) return result;
  errno = before;
  return VERBENA_REAL(connect)(fd, reinterpret_cast<const sockaddr*>(&second.name), second.bytes);
}

int connect_to_node(int fd, const sockaddr* to, socklen_t bytes) {
  BindName first;
  const unsigned own = own_node();
  const bool may_be_either = own != 0 && verbena::path::first_name_for(to, bytes, first) && is_stream(fd);
  if (own != 0 && !may_be_either && verbena::path::first_name_for_datagram(to, bytes, first)) {
    to = reinterpret_cast<const sockaddr*>(&first.name);
    bytes = first.bytes;
  }
  // With a port of its own it is bound already, and shall stay reachable at 127.0.0.1.
  const auto socket = own != 0 ? find_addressless(fd) : std::nullopt;
  if (socket && socket->port == 0) bind_to(fd, *socket, own_address_towards(*ipv4_of(to, bytes), own));
  verbena::path::follow_network(fd);
  verbena::path::renew_deafness(fd, node_of(to, bytes));
  return may_be_either ? connect_to_either(fd, to, bytes, first) : VERBENA_REAL(connect)(fd, to, bytes);
}

/// A datagram that the socket could not send from the node's address alone, since it leaves the machine.
template <class Send>
ssize_t send_outside(int fd, const void* name, socklen_t bytes, Send send) {
  const ssize_t sent = send();
  if (sent >= 0 || errno != EINVAL || !verbena::path::is_outside(static_cast<const sockaddr*>(name), bytes) ||
      !verbena::path::widen(fd))
    return sent;
  return send();
}

}  // namespace

VERBENA_HOOK(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  if (message == nullptr) return VERBENA_REAL(sendmsg)(fd, message, flags);
  if (ssize_t result = 0; verbena::path::ask_netlink(fd, *message, flags, result)) return result;
  const FromNode from(fd, *message);
  return send_outside(fd, message->msg_name, message->msg_namelen,
                      [&] { return VERBENA_REAL(sendmsg)(fd, from.message(), flags); });
}

VERBENA_HOOK(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags)) {
  if (messages == nullptr || count == 0 ||
      (node_of(messages->msg_hdr.msg_name, messages->msg_hdr.msg_namelen) == 0 &&
       !verbena::path::may_be_netlink_question(fd, messages->msg_hdr)))
    return VERBENA_REAL(sendmmsg)(fd, messages, count, flags);
  for (unsigned i = 0; i < count; ++i) {
    const ssize_t sent = sendmsg(fd, &messages[i].msg_hdr, flags);
    if (sent < 0) return i == 0 ? -1 : static_cast<int>(i);
    messages[i].msg_len = static_cast<unsigned>(sent);
  }
  return static_cast<int>(count);
}

VERBENA_HOOK(ssize_t, sendto, (int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t bytes)) {
  iovec part{const_cast<void*>(data), size};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (ssize_t result = 0; verbena::path::ask_netlink(fd, message, flags, result)) return result;
  if (node_of(to, bytes) == 0)
    return send_outside(fd, to, bytes, [&] { return VERBENA_REAL(sendto)(fd, data, size, flags, to, bytes); });
  return VERBENA_REAL(sendmsg)(fd, FromNode(fd, message).message(), flags);
}
