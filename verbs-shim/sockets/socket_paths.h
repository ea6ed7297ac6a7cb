// SocketPaths in a program: its own TCP and UDP sockets follow the emulated network.
//
// Solely responsible for this process's side of emulator/host/node/socket_paths.h: it asks the fabric process which
// nodes are cut off, once a socket has to do with nodes, and makes all TCP and UDP sockets of the process deaf to those
// (socket_filter.h) for as long as they are. A thread of its own waits for news; all its signals are blocked. It starts
// with the first such socket and only where the node's link is a fabric process, and a forked child starts its own.
// Sockets are not remembered: when there is news all descriptors are looked at, and when nothing was ever cut, none is.
// When the fabric process ends, all sockets are whole again.
// Tested by: tests/programs/own_sockets.py
#pragma once

namespace verbena::path {

/// To be called when `fd` is about to connect, to listen or to hear. Returns when the state of the network is known, or
/// nobody tells it. Keeps errno.
void follow_network(int fd);

/// A descriptor that is new to this process, or a socket that has changed its part (to listener, say), is as deaf as it
/// must be. `to`: the node that it is about to connect to. Keeps errno.
void renew_deafness(int fd, unsigned to = 0);

}  // namespace verbena::path
