// NameOwner: whose an abstract unix name is.
//
// Abstract names have no permissions: any user of the network namespace may hold one that bears our user's number.
// Solely responsible for asking the kernel whose the socket is that has one (sock_diag(7), UNIX_DIAG_UID of Linux 5.3),
// and for saying once that somebody else holds a name of ours. Where connections are accepted the peer's credentials
// are the better answer (same_user.h); this one is for names through which nothing is received. It costs a look at all
// unix sockets, so it is asked only about names that are held. libc only, by system calls: the path shim has it too.
// Tested by: tests/host/os/name_holder_test.cc
#pragma once

#include <optional>

#include "emulator/host/os/abstract_name.h"

namespace verbena::host {

/// Nothing: nobody holds it, or the kernel does not tell.
std::optional<unsigned> owner_of(const AbstractName& name);
/// Whether its holder is known to be somebody else. If so, a line on stderr, once in the life of the process.
bool is_squatted(const AbstractName& name);
/// Whether somebody holds it who may be us.
bool is_held_by_us(const AbstractName& name);

}  // namespace verbena::host
