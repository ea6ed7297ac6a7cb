// What the limit programs share: pinning, time, and one line per result.
//
// Solely responsible for measuring in the same way in each of them. A result is `name value` on stdout.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdio>

namespace verbena::bench {

inline constexpr int kCoreA = 0;
inline constexpr int kCoreB = 1;

/// Puts the calling thread on one core. On a machine with fewer cores it stays where it is.
inline void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline void report(const char* name, double value) {
  std::printf("%s %.6g\n", name, value);
}

}  // namespace verbena::bench
