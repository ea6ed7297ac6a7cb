// Waits before a client starts until its server can be reached, so that two command lines may start in either order.
//
// Solely the waiting and what is said when it is in vain; who listens is found by scenarios/real/listeners.h.
// Tested by: tests/programs/rdma_cm.py, tests/programs/command_line.py
#pragma once

#include <string>

#include "wire/result.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::cli {

/// How long it waits: a server that compiles its kernels or opens its disks first takes its time.
inline constexpr Duration kListenerPatience = seconds(60);

/// Until a program on `node` of the fabric listens on a TCP port or for rdma_cm. An error is one line: none has, for
/// kListenerPatience.
Result<void, std::string> wait_for_listener(const std::string& fabric, const wire::Gid& node);

}  // namespace verbena::cli
