// StopSign: somebody wants a run to end early, and whether the run has seen so.
//
// Solely responsible for these two facts. raise() may be called from a signal's handler, and by another process that
// has the sign in memory that both share. Who has looked is on its way to the end: it writes what it has, and takes its
// time.
// Tested by: tests/scenarios/search/sweep_test.cc
#pragma once

#include <atomic>

namespace verbena::scenarios {

class StopSign {
 public:
  void raise() { is_up_.store(true, std::memory_order_relaxed); }
  /// Called often by who runs.
  bool look() const {
    if (!is_up_.load(std::memory_order_relaxed)) return false;
    is_seen_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool is_seen() const { return is_seen_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> is_up_{false};
  mutable std::atomic<bool> is_seen_{false};
};

}  // namespace verbena::scenarios
