// What the two measurements of waking share, so that they differ only in what wakes: how often, with which pause in
// between.
//
// Solely responsible for that arrangement; futex_limit.cc and programs/passive_target.cc do the waking.
#pragma once

#include <cstdint>

#include "bench/limits/measure.h"

namespace verbena::bench {

inline constexpr std::uint64_t kWarmUpWakes = 20;
inline constexpr std::uint64_t kWakes = 300;
inline constexpr double kGapSeconds = 2e-3;  // long enough for whoever is to be woken to go to sleep

/// The waking side stays awake meanwhile: only the other core sleeps.
inline void spin_for(double seconds) {
  for (const Stopwatch watch; watch.seconds() < seconds;) {
  }
}

}  // namespace verbena::bench
