// Listeners: whether processes of this machine wait for connections, by TCP or by rdma_cm.
//
// Solely what /proc says of sockets that are open; nothing is connected, so no server notices. Which processes to look
// at is said by the caller: those of a program (program_child.h), or all that stand on a node.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "wire/types.h"

namespace verbena::scenarios {

/// The inodes of all sockets that the chosen processes hold, as far as this user may look.
std::set<std::string> sockets_of(const std::function<bool(pid_t process)>& is_chosen);

/// Whether one of these sockets listens: on a TCP port (of any address, IPv4 or IPv6), or for a service of rdma_cm.
bool has_listener(const std::set<std::string>& sockets);

/// Whether a process that stands on this node of the fabric listens, by its environment (variables.h, own_node.h).
bool node_listens(std::string_view fabric, const wire::Gid& node);

}  // namespace verbena::scenarios
