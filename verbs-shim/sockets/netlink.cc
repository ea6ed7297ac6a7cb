#include "verbs-shim/sockets/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "verbs-shim/sockets/rdma_netlink.h"
#include "verbs-shim/sockets/route_netlink.h"

namespace verbena::path {
namespace {

constexpr int kNetlinkRdma = 20;
constexpr std::size_t kQuestionBytesMax = 8192;
constexpr int kNoNetlink = -1;

/// Keeps errno.
int netlink_protocol_of(int fd) {
  const int before = errno;
  int domain = 0;
  int protocol = 0;
  socklen_t domain_bytes = sizeof domain;
  socklen_t protocol_bytes = sizeof protocol;
  const bool is_one = syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_bytes) == 0 &&
                      domain == AF_NETLINK &&
                      syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_bytes) == 0;
  errno = before;
  return is_one ? protocol : kNoNetlink;
}

struct Datagram {
  char octets[kQuestionBytesMax];
  std::size_t bytes = 0;
  /// False: it is too long.
  bool gather(const msghdr& message) {
    for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
      const iovec& piece = message.msg_iov[i];
      if (piece.iov_len > sizeof octets - bytes) return false;
      if (piece.iov_len != 0) std::memcpy(octets + bytes, piece.iov_base, piece.iov_len);
      bytes += piece.iov_len;
    }
    return true;
  }
};

/// 0: it goes to the kernel; else the errno of netlink_sendmsg().
int wrong_address(const msghdr& message) {
  if (message.msg_name == nullptr || message.msg_namelen == 0) return 0;
  sockaddr_nl to{};
  if (message.msg_namelen < sizeof to) return EINVAL;
  std::memcpy(&to, message.msg_name, sizeof to);
  if (to.nl_family != AF_NETLINK) return EINVAL;
  return to.nl_pid != 0 || to.nl_groups != 0 ? EPERM : 0;
}

/// Whether it goes to nobody but the kernel, by its own address or the socket's (connect()). Keeps errno.
bool goes_to_kernel(int fd, const msghdr& message) {
  sockaddr_nl to{};
  if (message.msg_name != nullptr && message.msg_namelen != 0) return wrong_address(message) == 0;
  const int before = errno;
  socklen_t bytes = sizeof to;
  const bool is_known = syscall(SYS_getpeername, fd, &to, &bytes) == 0;
  errno = before;
  return is_known && to.nl_pid == 0 && to.nl_groups == 0;
}

ssize_t ask_rdma(int fd, const msghdr& message) {
  Datagram question;
  if (const int error = wrong_address(message); error != 0) return errno = error, -1;
  if (!question.gather(message)) return errno = EMSGSIZE, -1;
  return ask_rdma_netlink(fd, question.octets, question.bytes);
}

/// False: the program's own words go to the kernel.
bool ask_route(int fd, const msghdr& message, int flags, ssize_t& result) {
  Datagram question;
  if (wrong_address(message) != 0 || !question.gather(message)) return false;
  char instead[sizeof(nlmsghdr)];
  if (!ask_route_netlink(fd, question.octets, question.bytes, instead)) return false;
  const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  const long sent = syscall(SYS_sendto, fd, instead, sizeof instead, flags, &kernel, sizeof kernel);
  result = sent < 0 ? -1 : static_cast<ssize_t>(question.bytes);
  return true;
}

bool any_answered() {
  return any_rdma_netlink() || any_route_netlink();
}

}  // namespace

int netlink_protocol(int protocol) {
  if (protocol == NETLINK_ROUTE) watch_route_netlink();
  return protocol == kNetlinkRdma ? stand_in_for_rdma_netlink() : protocol;
}

/// Its octets are read here only where the kernel would read them as well, and of a netlink socket: whoever asks by a
/// write to a pipe whether memory can be read is to get EFAULT.
bool may_be_netlink_question(int fd, const msghdr& message) {
  if (!any_answered()) return false;
  const int protocol = netlink_protocol_of(fd);
  if (protocol != NETLINK_ROUTE && protocol != NETLINK_USERSOCK) return false;
  nlmsghdr first{};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const iovec& piece = message.msg_iov[i];
    if (bytes < sizeof first && piece.iov_len != 0) {
      const std::size_t room = sizeof first - bytes;
      std::memcpy(reinterpret_cast<char*>(&first) + bytes, piece.iov_base, piece.iov_len < room ? piece.iov_len : room);
    }
    bytes += piece.iov_len;
  }
  // The kernel takes whatever comes, and says nothing to what is no message; a datagram without octets is an error.
  if (protocol == NETLINK_USERSOCK)
    return any_rdma_netlink() && bytes != 0 &&
           (goes_to_kernel(fd, message) || RDMA_NL_GET_CLIENT(first.nlmsg_type) != 0);
  if (bytes < sizeof first || first.nlmsg_len < sizeof first || first.nlmsg_len > bytes) return false;
  const bool is_about_routes =
      first.nlmsg_type == RTM_GETLINK || first.nlmsg_type == RTM_GETADDR || first.nlmsg_type == RTM_GETROUTE;
  return is_about_routes && any_route_netlink();
}

bool ask_netlink(int fd, const msghdr& message, int flags, ssize_t& result) {
  if (!may_be_netlink_question(fd, message)) return false;
  if (netlink_protocol_of(fd) == NETLINK_ROUTE) return ask_route(fd, message, flags, result);
  result = ask_rdma(fd, message);
  return true;
}

bool ask_netlink(int fd, const void* data, std::size_t bytes, int flags, ssize_t& result) {
  if (!any_answered()) return false;
  iovec piece{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return ask_netlink(fd, message, flags, result);
}

bool receive_netlink(int fd, msghdr& message, int flags, ssize_t& result) {
  return any_route_netlink() && receive_route_netlink(fd, message, flags, result);
}

void mend_netlink_sender(int fd, void* name, const socklen_t* bytes) {
  sockaddr_nl from{};
  if (name == nullptr || bytes == nullptr || *bytes < sizeof from) return;
  std::memcpy(&from, name, sizeof from);
  if (from.nl_family != AF_NETLINK || from.nl_pid == 0 || !any_rdma_netlink() ||
      netlink_protocol_of(fd) != NETLINK_USERSOCK)
    return;
  from.nl_pid = 0;
  std::memcpy(name, &from, sizeof from);
}

}  // namespace verbena::path
