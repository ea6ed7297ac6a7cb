// Working: the working directory of a process that has gone into the emulated tree (`cd /sys/class/infiniband`).
//
// Solely responsible for remembering it. The kernel's own working directory is then the real directory above the tree,
// /sys/class for one, and as long as it is that the memory counts: so a child made by vfork(), which shares it, does no
// harm. A program that is run there is told by a variable of its environment (exec.cc).
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>

#include "verbs-shim/sysfs/tree.h"

namespace verbena::path {

inline constexpr const char* kWorkingVariable = "VERBENA_WORKING_DIRECTORY";

/// None: the process is nowhere in the tree. Costs next to nothing for a process that never was.
Node working_node();

}  // namespace verbena::path
