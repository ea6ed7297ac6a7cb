// The one-way time of a cache line between the two cores: what every hand-over between them costs at least.
//
// Solely responsible for that measurement, which ring_limit.cc sets beside latencies and machine_probe.cc tells
// machines apart by.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

#include "bench/limits/measure.h"

namespace verbena::bench {

/// A word that two cores share, on lines of its own: the neighbouring line is fetched with it.
struct alignas(128) Index {
  std::atomic<std::size_t> value{0};
};

inline double cache_line_one_way_nanoseconds(std::size_t rounds) {
  struct Lines {
    Index ping;
    Index pong;
  };
  auto lines = std::make_unique<Lines>();
  std::thread other([&] {
    pin(kCoreB);
    for (std::size_t round = 1; round <= rounds; ++round) {
      while (lines->ping.value.load(std::memory_order_acquire) != round) {
      }
      lines->pong.value.store(round, std::memory_order_release);
    }
  });
  pin(kCoreA);
  const double there_and_back = nanoseconds_a_turn(rounds, [&](std::size_t round) {
    lines->ping.value.store(round, std::memory_order_release);
    while (lines->pong.value.load(std::memory_order_acquire) != round) {
    }
  });
  other.join();
  return there_and_back / 2;
}

}  // namespace verbena::bench
