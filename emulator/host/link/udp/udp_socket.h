// Sockets as the udp link needs them: the options that make the kernel send and show RoCE v2 packets as they are.
//
// No state. What each socket is bound to, and who reads it, is in udp_link.h (the node's address) and udp_groups.h
// (multicast groups).
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include "wire/types.h"

namespace verbena::host {

/// Not bound; close-on-exec and non-blocking, for a node with this address. Negative: errno says why.
int open_udp_socket(const wire::Gid& node);

/// What such a socket sends to a group leaves through the node's interface and reaches that host's members too.
void let_send_to_groups(int socket, const wire::Gid& node, unsigned interface_index);

/// The socket, bound to the group, gets what the node's interface brings for it. False: errno says why.
bool join_group(int socket, const wire::Gid& node, const wire::Gid& group, unsigned interface_index);

}  // namespace verbena::host
