// SocketFilter: a TCP or UDP socket that does not hear some of the nodes.
//
// Solely responsible for the filter in the kernel (SO_ATTACH_FILTER) that loses what comes
// from nodes that a set names: data, acknowledgements, the first packet of a connection and the refusal of one. So a
// connection meets what it meets at a dead cable, and the kernel's own TCP does what it does there: repeats, backs off,
// gives up. Nothing of the program's calls is touched. A filter that the program has attached itself is left alone.
// Which nodes, and when, is socket_paths.h's.
// Tested by: tests/shim/sockets/socket_filter_test.cc
#pragma once

#include <linux/filter.h>

#include <cstddef>

#include "emulator/host/node/socket_paths.h"

namespace verbena::path {

inline constexpr std::size_t kFilterLength = 41;
struct FilterProgram {
  sock_filter steps[kFilterLength];
};

/// Loses IPv4 packets from each address of node K (device_address) for each K in the set, keeps all others. Its first
/// step is a mark.
FilterProgram filter_program(const host::NodeSet& deaf_to);

/// From now on the socket does not hear these nodes, and hears all others. False: it has a filter of the program's, or
/// cannot have one (errno EPERM).
bool make_deaf(int fd, const host::NodeSet& to);

}  // namespace verbena::path
