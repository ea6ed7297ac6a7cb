// Time and Duration: int64 nanoseconds, as two types that do not mix by accident.
//
// A Time comes from whoever owns the clock (the simulator or the host engine) and is always an argument.
// Tested by: tests/nic/timer_table_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace verbena {

struct Duration {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return {a.ns * n}; }
};

struct Time {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Time&) const = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ns - b.ns}; }
};

inline constexpr Time kNever{std::numeric_limits<std::int64_t>::max()};

constexpr Duration nanoseconds(std::int64_t n) {
  return {n};
}
constexpr Duration microseconds(std::int64_t n) {
  return {n * 1000};
}
constexpr Duration milliseconds(std::int64_t n) {
  return {n * 1000 * 1000};
}
constexpr Duration seconds(std::int64_t n) {
  return {n * 1000 * 1000 * 1000};
}

}  // namespace verbena
