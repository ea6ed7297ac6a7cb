// A file of its own: the kernel's header and the C library's <sched.h> each define sched_param.
#include "emulator/host/os/scheduler_slice.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace verbena::host {

void ask_for_short_slice() {
  constexpr __u64 kTurnNs = 100'000;  // the least that the kernel takes
  sched_attr attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.sched_policy != SCHED_NORMAL) return;
  attributes.sched_runtime = kTurnNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace verbena::host
