// Hooks: connect(), sendto() and sendmsg() of datagram sockets, whose datagrams to a node come from the node's address.
//
// Solely responsible for the source address of what a program itself sends by UDP to 127.47.91.K. All of 127/8 is the
// loopback interface's, and its route names 127.0.0.1 as the source of everything; on machines of their own programs
// would find, and show to others, the node's address. Datagram rsockets (librdmacm) learn in this way who they are, and
// where to send the answer. A socket that is bound to an address keeps it. The packets of the emulated network are not
// meant here.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "verbs-shim/path/real.h"
#include "verbs-shim/path/values.h"

namespace {

constexpr std::uint32_t kNodesPrefix = 0x7f2f5b00;  // 127.47.91.0/24
constexpr std::uint32_t kNodesMask = 0xffffff00;

bool is_node(const in_addr& address) {
  return (ntohl(address.s_addr) & kNodesMask) == kNodesPrefix;
}

/// This process's node, if it is one of those that share the loopback interface.
std::optional<in_addr> own_address() {
  const verbena::path::Octets gid = verbena::path::node_gid();
  in_addr own;
  std::memcpy(&own, &gid[12], sizeof own);
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(gid.data(), kMapped, sizeof kMapped) != 0 || !is_node(own)) return std::nullopt;
  return own;
}

bool names_node(const void* to, socklen_t bytes) {
  sockaddr_in name{};
  if (to == nullptr || bytes < sizeof name) return false;
  std::memcpy(&name, to, sizeof name);
  return name.sin_family == AF_INET && is_node(name.sin_addr);
}

/// The port of a datagram socket that has no address; nothing: it is none, or has one. Past all hooks; keeps errno.
std::optional<in_port_t> port_of_addressless(int fd) {
  const int before = errno;
  int type = 0;
  socklen_t bytes = sizeof type;
  sockaddr_in name{};
  socklen_t name_bytes = sizeof name;
  const bool fits = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_DGRAM &&
                    syscall(SYS_getsockname, fd, &name, &name_bytes) == 0 && name.sin_family == AF_INET &&
                    name.sin_addr.s_addr == INADDR_ANY;
  errno = before;
  if (!fits) return std::nullopt;
  return name.sin_port;
}

/// A message with the node's address as its source, where the program has left it to the kernel which.
class FromNode {
 public:
  FromNode(int fd, const msghdr& message) : message_(message) {
    if (!names_node(message.msg_name, message.msg_namelen) || message.msg_controllen != 0) return;
    const auto own = own_address();
    if (!own || !port_of_addressless(fd)) return;
    in_pktinfo source{};
    source.ipi_spec_dst = *own;
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
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(in_pktinfo))] = {};
};

}  // namespace

VERBENA_HOOK(int, connect, (int fd, const sockaddr* to, socklen_t bytes)) {
  if (names_node(to, bytes)) {
    const auto own = own_address();
    // With a port of its own it is bound already, and shall stay reachable at 127.0.0.1.
    if (own && port_of_addressless(fd) == in_port_t{0}) {
      const int before = errno;
      const sockaddr_in name{.sin_family = AF_INET, .sin_port = 0, .sin_addr = *own, .sin_zero = {}};
      syscall(SYS_bind, fd, &name, sizeof name);
      errno = before;
    }
  }
  return VERBENA_REAL(connect)(fd, to, bytes);
}

VERBENA_HOOK(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  if (message == nullptr) return VERBENA_REAL(sendmsg)(fd, message, flags);
  return VERBENA_REAL(sendmsg)(fd, FromNode(fd, *message).message(), flags);
}

VERBENA_HOOK(ssize_t, sendto, (int fd, const void* data, size_t size, int flags, const sockaddr* to, socklen_t bytes)) {
  if (!names_node(to, bytes)) return VERBENA_REAL(sendto)(fd, data, size, flags, to, bytes);
  iovec part{const_cast<void*>(data), size};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = bytes;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return VERBENA_REAL(sendmsg)(fd, FromNode(fd, message).message(), flags);
}
