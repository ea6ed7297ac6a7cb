// Wildcard: a port on "all addresses" (INADDR_ANY, ::) of a node that shares the loopback interface with others.
//
// Solely responsible for what all addresses are: the node's first one, 127.47.91.K, so that every node has all ports,
// as machines have. Who wants to reach it at the address of a further device finds it there (source_address.cc). Only
// where the program names a port, for TCP and UDP. A port of the kernel's choosing collides with nobody, and its socket
// is bound to all addresses of the machine, as it says. A socket that needs more than the node's address (groups,
// broadcasts, a peer outside of the machine) gets all of the machine's then. VERBENA_WILDCARD=machine leaves everything
// to the kernel.
// Tested by: tests/shim/sockets/wildcard_test.cc, tests/shim/sockets/two_networks_test.cc
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace verbena::path {

struct BindName {
  sockaddr_storage name;
  socklen_t bytes;
};

/// Where bind() is to go instead. False: where the program says.
bool narrow_wildcard(int fd, const sockaddr* name, socklen_t bytes, BindName& instead);
/// After narrow_wildcard(), and a bind() that has succeeded.
void mark_narrowed(int fd);
/// The socket is bound to all addresses of the machine again: another one in its place, with its options. Does nothing
/// to a socket that was not narrowed, that is connected or listens. Keeps errno. True: it is done.
bool widen(int fd);
/// Of a socket for datagrams that was narrowed and is not connected.
bool is_narrowed_datagram(int fd);
/// A socket that is about to hear groups or to send broadcasts.
void hear_groups(int fd);
/// Whether a name is one that a socket bound to the node's address cannot reach.
bool is_outside(const sockaddr* name, socklen_t bytes);
/// The node's name for a peer that a connection to its own machine (127.0.0.1, ::1, all addresses) asks for; false: it
/// asks for another.
bool own_name_for(int fd, const sockaddr* name, socklen_t bytes, BindName& instead);

/// Whether an address is a node's, and not its first one.
bool is_further_address(in_addr address);
/// The name of the same port at the first address of the node whose further address this is. False: it is none, or has
/// no port.
bool first_name_for(const void* name, socklen_t bytes, BindName& first);
/// The same, if a datagram to the further address is heard there alone (listeners.h).
bool first_name_for_datagram(const void* name, socklen_t bytes, BindName& first);

}  // namespace verbena::path
