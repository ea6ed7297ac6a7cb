// CoreShare: whether the progress thread has its core for itself, and which cores it keeps off.
//
// Solely responsible for that knowledge, which has no interface in the kernel: it is learned from how long the thread
// is away when it offers its core to others. The thread is the NIC's and not the application's, so it is not bound to
// the cores that the application was bound to (taskset, MPI); what a cpuset forbids stays forbidden. One per thread,
// and used by it only.
#pragma once

#include <sched.h>
#include <time.h>

#include "wire/time.h"

namespace verbena::host {

class CoreShare {
 public:
  /// Frees the calling thread from the affinity that it inherited.
  CoreShare();

  /// How long to look for the next frame before sleeping. Where others want the core, spinning keeps them waiting,
  /// makes the kernel wake us later, and finds nothing if it is them that would send; when that shows, it is not done.
  Duration spin(Time now) const;
  /// How that ended.
  void spin_found() { misses_ = 0; }
  void spin_missed() { ++misses_; }

  /// Lets others run, if any want to, and finds out. Where that is known already it does nothing: a yield to a thread
  /// that computes costs a time slice, while a sleeper is woken ahead of it.
  void offer(Time now);
  /// The thread was away for so long between two looks at the clock.
  void note_gap(Duration away, Time now);
  /// An application thread that called: where, and its CPU-time clock.
  struct Caller {
    int core = -1;  // unknown
    clockid_t cpu_clock = 0;
  };
  static Caller this_caller();
  /// Before a sleep: keeps off the core where that thread computes without pause, if there are others.
  void choose_core(Time now, const Caller& application);

 private:
  static constexpr Duration kSpin = microseconds(20);
  static constexpr unsigned kMissesMax = 4;
  static constexpr unsigned kMissesForgotten = 64;          // then it is tried again
  static constexpr Duration kAwayAlone = microseconds(50);  // what an interrupt or a kernel thread takes
  static constexpr Duration kCrowdedFor = milliseconds(500);

  bool crowded(Time now) const { return now < crowded_until_; }
  static long switches();
  bool computes(Time now, const Caller& application);

  cpu_set_t allowed_{};
  int avoided_ = -1;
  long switches_ = 0;  // away from this thread although it could have run on
  Time crowded_until_{};
  Time seen_at_{};  // when we last looked at the application's clock
  Time seen_cpu_time_{};
  unsigned misses_ = 0;  // spins in a row that found nothing
};

}  // namespace verbena::host
