// Waiting in tests: the one place that sleeps. A test waits for its condition. It lets time pass only where time itself
// is the matter: a thread that the machine does not run, a peer that must stay idle.
#pragma once

#include <chrono>
#include <thread>

#include "wire/time.h"

namespace verbena::waiting {

/// Does nothing for this long.
inline void let_time_pass(Duration time) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(time.ns));
}

/// Looks until `done()`, and rests between two looks, until `limit` is over. Returns whether it got done.
template <typename Done>
bool wait_until(const Done& done, Duration limit = seconds(60), Duration rest = microseconds(200)) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.ns);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    let_time_pass(rest);
  }
  return true;
}

}  // namespace verbena::waiting
