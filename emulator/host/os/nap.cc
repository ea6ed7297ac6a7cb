#include "emulator/host/os/nap.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace verbena::host {

void nap(Duration length) {
  const int slack_ns = prctl(PR_GET_TIMERSLACK);
  if (slack_ns > 1) prctl(PR_SET_TIMERSLACK, 1UL);
  const timespec sleep{.tv_sec = 0, .tv_nsec = length.ns};
  // Not nanosleep(), in which the program's thread could be cancelled.
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &sleep, nullptr);
  if (slack_ns > 1) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_ns));
}

}  // namespace verbena::host
