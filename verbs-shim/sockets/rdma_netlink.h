// RdmaNetlink: the NETLINK_RDMA sockets of a program (`rdma link`), which would tell of the host's devices.
//
// Solely responsible for what such a socket says of ours: the device and its port, as sysfs shows them; of the kernel's
// lists of QPs, MRs and the like that there are none, for no kernel keeps them; what else a kernel does is not
// supported, and what it refuses is refused as it does. The socket is one of NETLINK_USERSOCK, a descriptor that bind,
// poll and recvmsg know; what is sent to it is a question, and the answer is in it when the call returns.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace verbena::path {

/// The protocol that such a socket has instead of NETLINK_RDMA.
int stand_in_for_rdma_netlink();
/// Whether this process has ever opened one. Costs next to nothing.
bool any_rdma_netlink();
/// The whole datagram. As sendto() returns it.
ssize_t ask_rdma_netlink(int fd, const char* question, std::size_t bytes);

}  // namespace verbena::path
