// Listeners: at which of a node's addresses somebody hears datagrams to a port.
//
// Solely responsible for that one question, which /proc/net/udp answers. A node has an address for each port of its
// devices, and a port on all of them is one on the first (wildcard.h). Of a connection the kernel's refusal says that
// nobody listens; of a datagram nothing does.
// Tested by: tests/shim/sockets/two_networks_test.cc
#pragma once

#include <netinet/in.h>

namespace verbena::path {

/// Whether a datagram to a further address of a node is for who has the port on all of the node's addresses: nobody has
/// it at `wanted` alone, and somebody at `first`, or nobody at all addresses of the machine. `port` in network order.
/// Keeps errno.
bool is_heard_at_first(in_addr wanted, in_addr first, in_port_t port);

}  // namespace verbena::path
