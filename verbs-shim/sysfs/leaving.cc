// Hooks: _exit() and _Exit(), of which no handler learns. Hardware has acknowledged by then what the program has
// received; our libibverbs does so now.
// Tested by: tests/shim/verbs/leaving_test.cc
#include <unistd.h>

#include <cstdlib>

#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/sysfs/real.h"

namespace {

void leave() {
  if (const verbena::path::DeviceFunctions* const functions = verbena::path::device_functions()) functions->leave();
}

}  // namespace

VERBENA_HOOK(void, _exit, (int status)) {
  leave();
  VERBENA_REAL(_exit)(status);
}

VERBENA_HOOK(void, _Exit, (int status)) {
  leave();
  VERBENA_REAL(_Exit)(status);
}
