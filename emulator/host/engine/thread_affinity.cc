#include "emulator/host/engine/thread_affinity.h"

#include <utility>

namespace verbena::host {

bool is_bound_to_one_core() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
}

void ThreadAffinity::served(std::uint64_t app_actions, int app_core) {
  // Who has done nothing since the last frame waits in the kernel for something else.
  if (std::exchange(app_actions_, app_actions) == app_actions) app_core = -1;
  const bool in_the_way = app_core >= 0 && app_core == sched_getcpu();
  const bool is_needed = away_from_ < 0 ? in_the_way : in_the_way || app_core < 0;
  wakes_ = is_needed ? wakes_ + 1 : 0;
  if (wakes_ < kWakesToMove) return;
  wakes_ = 0;
  if (app_core >= 0)
    keep_off(app_core);
  else
    come_back();
}

/// What taskset gave the program is not a bound here: the NIC's work for a frame is the sender's as much as the
/// target's. What the container may use is: the kernel leaves out the rest.
void ThreadAffinity::keep_off(int core) {
  if (away_from_ < 0 && sched_getaffinity(0, sizeof home_, &home_) != 0) return;
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int other = 0; other < CPU_SETSIZE; ++other)
    if (other != core) CPU_SET(other, &others);
  if (sched_setaffinity(0, sizeof others, &others) != 0) return;  // there is no other core
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  away_from_ = core;
  choice_ = CPU_COUNT(&others);
}

void ThreadAffinity::come_back() {
  if (sched_setaffinity(0, sizeof home_, &home_) == 0) away_from_ = -1;
}

}  // namespace verbena::host
