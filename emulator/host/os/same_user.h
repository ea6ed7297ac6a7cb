// Which user we are, and whether who is at the other end of a unix socket is the same: nobody else may attach to a
// fabric of ours.
//
// Solely that question (docs/security.md says what rests on it). The effective user ID is the one that counts, in names
// and in comparisons alike: it is what the kernel says of a peer. libc only: the path shim includes it.
#pragma once

#include <unistd.h>

namespace verbena::host {

/// As names of sockets and files of ours bear it.
inline unsigned own_user() {
  return static_cast<unsigned>(::geteuid());
}

/// The kernel's own answer, from when the connection was made (SO_PEERCRED, unix(7)).
bool peer_is_same_user(int socket);

}  // namespace verbena::host
