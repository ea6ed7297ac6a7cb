// Whether who is at the other end of a unix socket runs as our user: nobody else may attach to a fabric of ours.
//
// Solely that question (docs/security.md says what rests on it).
#pragma once

namespace verbena::host {

/// The kernel's own answer, from when the connection was made (SO_PEERCRED, unix(7)).
bool peer_is_same_user(int socket);

}  // namespace verbena::host
