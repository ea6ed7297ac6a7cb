// Neighbours: the Ethernet address behind an IP address, from the kernel's own tables (rtnetlink(7)).
//
// Solely responsible for asking: which next hop the route takes, and what the neighbour table says about it. If it says
// nothing, a datagram to the discard port makes the kernel ask the network (ARP, neighbour discovery). Keeps no table
// of its own and sends no ARP of its own.
// Tested by: tests/host/link/raw/raw_link_test.cc
#pragma once

#include <optional>

#include "wire/time.h"
#include "wire/types.h"

namespace verbena::host {

struct NeighbourQuery {
  wire::Gid destination;
  wire::Gid source;
  unsigned interface_index = 0;
  Duration limit = seconds(1);
};

/// Blocks until the kernel knows or the limit is over. Nothing: no route through that interface, or nobody answers.
std::optional<wire::MacAddress> find_neighbour(const NeighbourQuery& query);

/// The group address of an IP multicast address (RFC 1112, RFC 2464).
wire::MacAddress multicast_mac(const wire::Gid& address);

}  // namespace verbena::host
