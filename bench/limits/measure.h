// What the limit programs share: pinning, time, and one line per result.
//
// Solely responsible for measuring in the same way in each of them. A result is `name value` on stdout.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

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

/// The middle one, as the typical latency of perftest and UCX is: what preempted a few turns does not move it.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What one of `turns` calls takes; the middle one of batches of so many, for a look at the clock costs as much as one.
template <class Turn>
double nanoseconds_a_turn(std::size_t turns, Turn&& turn) {
  constexpr std::size_t kBatch = 100;
  std::vector<double> batches;
  Stopwatch watch;
  for (std::size_t made = 1; made <= turns; ++made) {
    turn(made);
    if (made % kBatch != 0) continue;
    batches.push_back(watch.seconds());
    watch = Stopwatch();
  }
  return median(batches) / kBatch * 1e9;
}

inline void report(const char* name, double value) {
  std::printf("%s %.6g\n", name, value);
}

/// Whether the command line asks for this figure: it names some, or none and means all.
inline bool chosen(int argc, char** argv, std::string_view figure) {
  for (int at = 1; at < argc; ++at) {
    if (argv[at] == figure) return true;
  }
  return argc == 1;
}

}  // namespace verbena::bench
