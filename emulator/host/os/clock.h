// The real clock, read from user space, a clock that can be given, and a cheaper one for whoever asks in every pass.
// Tested by: tests/host/engine/fair_timers_test.cc, tests/host/engine/given_clock_test.cc
#pragma once

#include <cstdint>
#include <ctime>

#include "wire/time.h"

namespace verbena::host {

/// Monotonic; the origin is the machine's, so the time of two processes is comparable.
inline Time clock_now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return Time{std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec};
}

/// What time it is for an engine. Any thread may ask.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};
/// clock_now().
const Clock& real_clock();

/// Reads the clock only if the last reading is older than about a microsecond, which the processor's own counter tells
/// for a third of the price; a clock that is not the real one it reads each time. For one thread, or under a lock.
class PassClock {
 public:
  explicit PassClock(const Clock& clock = real_clock())
      : clock_(clock), fresh_ticks_(&clock == &real_clock() ? kFreshTicks : 0) {}

  Time now() {
    const std::uint64_t ticks = counter();
    if (ticks - read_at_ >= fresh_ticks_) {
      time_ = clock_.now();
      read_at_ = ticks;
    }
    return time_;
  }
  /// The clock's own reading. Any thread.
  Time exact() const { return clock_.now(); }

 private:
  const Clock& clock_;
  const std::uint64_t fresh_ticks_;
#if defined(__x86_64__) || defined(__i386__)
  static constexpr std::uint64_t kFreshTicks = 2048;  // 0.4 to 1 us, from 5 GHz down to 2 GHz
  static std::uint64_t counter() { return __builtin_ia32_rdtsc(); }
#else
  static constexpr std::uint64_t kFreshTicks = 0;
  static std::uint64_t counter() { return 0; }
#endif
  Time time_;
  std::uint64_t read_at_ = 0;
};

}  // namespace verbena::host
