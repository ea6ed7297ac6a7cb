// Netlink: the datagrams of a program's netlink sockets, where we have something to say: about RDMA devices
// (rdma_netlink.h) and about network interfaces (route_netlink.h).
//
// Solely the form of the calls: a datagram is one whether it came by write() or by sendmsg() in pieces. What is the
// kernel's it gets.
// Tested by: tests/shim/sockets/rdma_netlink_calls_test.cc
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>

namespace verbena::path {

/// The protocol that socket() shall have instead of this one.
int netlink_protocol(int protocol);
/// Answers what a program sends with `flags`. False: it is the kernel's. Costs next to nothing in a program that has no
/// such socket.
bool ask_netlink(int fd, const msghdr& message, int flags, ssize_t& result);
/// The same for one piece, and no address.
bool ask_netlink(int fd, const void* data, std::size_t bytes, int flags, ssize_t& result);
/// Before the kernel's recvmsg(): true, it is done. Costs next to nothing as long as nothing of ours waits.
bool receive_netlink(int fd, msghdr& message, int flags, ssize_t& result);
/// After a call that has received: our answers come from the kernel, as their sender's name says. Keeps errno.
void mend_netlink_sender(int fd, void* name, const socklen_t* bytes);
/// Whether ask_netlink() may have an answer to it: one system call for most of what a program sends, if it has opened a
/// netlink socket, and else none.
bool may_be_netlink_question(int fd, const msghdr& message);

}  // namespace verbena::path
