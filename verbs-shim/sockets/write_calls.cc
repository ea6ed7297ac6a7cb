// Hooks: write(), writev() and send(): what is written to a socket or a device without an address. Commands to
// /dev/infiniband/rdma_cm (sysfs/rdma_cm.h), and questions to netlink.
// Tested by: tests/shim/sockets/rdma_netlink_calls_test.cc
#include <sys/socket.h>
#include <sys/uio.h>

#include "verbs-shim/sockets/netlink.h"
#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/settings.h"

VERBENA_HOOK(ssize_t, write, (int fd, const void* data, size_t bytes)) {
  ssize_t result = 0;
  if (verbena::path::write_rdma_cm(fd, data, bytes, result) || verbena::path::write_setting(fd, data, bytes, result) ||
      verbena::path::ask_netlink(fd, data, bytes, 0, result))
    return result;
  return VERBENA_REAL(write)(fd, data, bytes);
}

VERBENA_HOOK(ssize_t, writev, (int fd, const iovec* pieces, int count)) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count > 0 ? static_cast<std::size_t>(count) : 0;
  ssize_t result = 0;
  if (verbena::path::ask_netlink(fd, message, 0, result)) return result;
  return VERBENA_REAL(writev)(fd, pieces, count);
}

VERBENA_HOOK(ssize_t, send, (int fd, const void* data, size_t bytes, int flags)) {
  ssize_t result = 0;
  if (verbena::path::ask_netlink(fd, data, bytes, flags, result)) return result;
  return VERBENA_REAL(send)(fd, data, bytes, flags);
}
