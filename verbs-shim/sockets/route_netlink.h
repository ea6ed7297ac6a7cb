// RouteNetlink: the NETLINK_ROUTE sockets of a program (`ip addr`), of whose interfaces the kernel does not know some.
//
// Solely responsible for the node's own interfaces in the answers to RTM_GETLINK, RTM_GETADDR and RTM_GETROUTE. The
// socket is the kernel's and stays so: groups, filters, poll and all other questions are untouched. A list that a
// program asks for gets our part in front of its end, in datagrams of its own where the reader has too little room. A
// question about one of our interfaces alone goes to the kernel as one that it only acknowledges, and the
// acknowledgement, when it is received, is exchanged for our answer: so a descriptor is readable when there is
// something to read. What waits to be received is kept in a few places; if a program asks and never reads, the oldest
// is given up.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>

namespace verbena::path {

/// From now on questions are looked at, if the node has interfaces of its own.
void watch_route_netlink();
bool any_route_netlink();
/// Before a question is sent. True: `instead` is to be sent, `instead_bytes` long.
bool ask_route_netlink(int fd, const char* question, std::size_t bytes, char (&instead)[16]);
/// Before the kernel's recvmsg(). True: it is done, with what recvmsg() would have returned.
bool receive_route_netlink(int fd, msghdr& message, int flags, ssize_t& result);

}  // namespace verbena::path
