// Hooks: socket(), bind(), listen() and accept(), by which the program's own sockets begin to follow the emulated
// network (socket_paths.h), bind() gives a port on the node's address for one on all (wildcard.h), and a socket of
// NETLINK_RDMA speaks of our device (netlink.h). connect() and what sends to an address are hooked in
// source_address.cc.
// Tested by: tests/shim/sockets/wildcard_test.cc, tests/programs/own_sockets.py
#include <sys/socket.h>

#include "verbs-shim/sockets/netlink.h"
#include "verbs-shim/sockets/socket_paths.h"
#include "verbs-shim/sockets/wildcard.h"
#include "verbs-shim/sysfs/real.h"

namespace {

int heard(int fd) {
  if (fd >= 0) {
    verbena::path::follow_network(fd);
    verbena::path::renew_deafness(fd);
  }
  return fd;
}

}  // namespace

VERBENA_HOOK(int, socket, (int domain, int type, int protocol)) {
  if (domain == AF_NETLINK) protocol = verbena::path::netlink_protocol(protocol);
  const int fd = VERBENA_REAL(socket)(domain, type, protocol);
  if (fd >= 0 && (domain == AF_INET || domain == AF_INET6)) verbena::path::renew_deafness(fd);
  return fd;
}

VERBENA_HOOK(int, bind, (int fd, const sockaddr* name, socklen_t bytes)) {
  verbena::path::follow_network(fd);  // a datagram socket may hear from now on
  verbena::path::BindName node;
  if (!verbena::path::narrow_wildcard(fd, name, bytes, node)) return VERBENA_REAL(bind)(fd, name, bytes);
  const int result = VERBENA_REAL(bind)(fd, reinterpret_cast<const sockaddr*>(&node.name), node.bytes);
  if (result == 0) verbena::path::mark_narrowed(fd);
  return result;
}

VERBENA_HOOK(int, listen, (int fd, int backlog)) {
  verbena::path::follow_network(fd);
  const int result = VERBENA_REAL(listen)(fd, backlog);
  if (result == 0) verbena::path::renew_deafness(fd);
  return result;
}

// A connection has its listener's filter from the time when it was made.
VERBENA_HOOK(int, accept, (int fd, sockaddr* name, socklen_t* bytes)) {
  return heard(VERBENA_REAL(accept)(fd, name, bytes));
}
VERBENA_HOOK(int, accept4, (int fd, sockaddr* name, socklen_t* bytes, int flags)) {
  return heard(VERBENA_REAL(accept4)(fd, name, bytes, flags));
}
