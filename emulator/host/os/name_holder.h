// NameHolder: who holds an abstract unix name that we wanted.
//
// Abstract names have no permissions: any user of the network namespace may hold one that bears our user's number.
// Solely responsible for saying so: the kernel tells whose the socket is (name_owner.h), /proc which process has it
// open, as far as we may look. Only for messages; nothing is decided by it.
#pragma once

#include <string>

#include "emulator/host/os/abstract_name.h"

namespace verbena::host {

/// " (process 12, ibv_rc_pingpong)", " (user 1001 squats on the name '@verbena/...': ...)", or empty: nothing is known.
std::string describe_name_holder(const AbstractName& name);

}  // namespace verbena::host
