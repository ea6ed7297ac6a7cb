// ThreadAffinity: on which cores the progress thread may run.
//
// Where its process may, at first. An application that spins on its memory (ib_write_lat does) calls no verb meanwhile:
// if the thread has to take the core from it for every frame, that costs an interrupt to that core and a time slice's
// worth of argument. The thread then keeps off that core: it runs on one that idles or, with two cores, on the
// sender's, who waits for the answer anyway. It comes back when the application sleeps. Solely responsible for that
// choice; when the thread runs is progress_thread.h's. All calls are the thread's own.
#pragma once

#include <sched.h>

#include <cstdint>

namespace verbena::host {

/// The calling thread has no choice: whoever else runs on its core has to wait for it.
bool is_bound_to_one_core();

class ThreadAffinity {
 public:
  /// Frames woke the thread and it took them. `app_actions`: how often the application has polled and called by now; on
  /// `app_core` it did so last, and may still compute there; -1: it sleeps.
  void served(std::uint64_t app_actions, int app_core);
  /// It keeps off the application's core, and one core is all that is left: whoever sends may need it.
  bool is_guest() const { return away_from_ >= 0 && choice_ == 1; }

  static constexpr std::uint32_t kWakesToMove = 8;  // in a row, in the application's way or not

 private:
  void keep_off(int core);
  void come_back();

  cpu_set_t home_;  // while away: where it may run otherwise
  int away_from_ = -1;
  int choice_ = 0;                 // cores left, while away
  std::uint64_t app_actions_ = 0;  // at the last served()
  std::uint32_t wakes_ = 0;
};

}  // namespace verbena::host
