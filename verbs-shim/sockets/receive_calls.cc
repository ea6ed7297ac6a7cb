// Hooks: recv(), recvfrom(), recvmsg() and recvmmsg(), by which a program hears what netlink.h has to say.
// Tested by: tests/shim/sockets/rdma_netlink_calls_test.cc
#include <sys/socket.h>

#include "verbs-shim/sockets/netlink.h"
#include "verbs-shim/sysfs/real.h"

using verbena::path::mend_netlink_sender;

namespace {

/// For the calls with one piece. True: it is done.
bool received(int fd, void* into, size_t size, int flags, sockaddr* name, socklen_t* bytes, ssize_t& result) {
  iovec piece{into, size};
  msghdr message{};
  message.msg_name = name;
  message.msg_namelen = name != nullptr && bytes != nullptr ? *bytes : 0;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!verbena::path::receive_netlink(fd, message, flags, result)) return false;
  if (result >= 0 && name != nullptr && bytes != nullptr) *bytes = message.msg_namelen;
  return true;
}

}  // namespace

VERBENA_HOOK(ssize_t, recv, (int fd, void* into, size_t size, int flags)) {
  ssize_t result = 0;
  if (received(fd, into, size, flags, nullptr, nullptr, result)) return result;
  return VERBENA_REAL(recv)(fd, into, size, flags);
}

VERBENA_HOOK(ssize_t, __recv_chk, (int fd, void* into, size_t size, size_t room, int flags)) {
  ssize_t result = 0;
  if (size <= room && received(fd, into, size, flags, nullptr, nullptr, result)) return result;
  return VERBENA_REAL(__recv_chk)(fd, into, size, room, flags);
}

VERBENA_HOOK(ssize_t, recvfrom, (int fd, void* into, size_t size, int flags, sockaddr* name, socklen_t* bytes)) {
  ssize_t got = 0;
  if (received(fd, into, size, flags, name, bytes, got)) return got;
  got = VERBENA_REAL(recvfrom)(fd, into, size, flags, name, bytes);
  if (got >= 0) mend_netlink_sender(fd, name, bytes);
  return got;
}

VERBENA_HOOK(ssize_t, __recvfrom_chk,
             (int fd, void* into, size_t size, size_t room, int flags, sockaddr* name, socklen_t* bytes)) {
  ssize_t got = 0;
  if (size <= room && received(fd, into, size, flags, name, bytes, got)) return got;
  got = VERBENA_REAL(__recvfrom_chk)(fd, into, size, room, flags, name, bytes);
  if (got >= 0) mend_netlink_sender(fd, name, bytes);
  return got;
}

VERBENA_HOOK(ssize_t, recvmsg, (int fd, msghdr* message, int flags)) {
  ssize_t got = 0;
  if (message != nullptr && verbena::path::receive_netlink(fd, *message, flags, got)) return got;
  got = VERBENA_REAL(recvmsg)(fd, message, flags);
  if (got >= 0) mend_netlink_sender(fd, message->msg_name, &message->msg_namelen);
  return got;
}

VERBENA_HOOK(int, recvmmsg, (int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout)) {
  ssize_t one = 0;
  if (messages != nullptr && count != 0 &&
      verbena::path::receive_netlink(fd, messages->msg_hdr, flags & ~MSG_WAITFORONE, one)) {
    if (one >= 0) messages->msg_len = static_cast<unsigned>(one);
    return one < 0 ? -1 : 1;
  }
  const int got = VERBENA_REAL(recvmmsg)(fd, messages, count, flags, timeout);
  for (int i = 0; i < got; ++i) mend_netlink_sender(fd, messages[i].msg_hdr.msg_name, &messages[i].msg_hdr.msg_namelen);
  return got;
}
