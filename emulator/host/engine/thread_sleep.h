// ThreadSleep: until when the progress thread sleeps.
//
// Solely responsible for that one number. It is changed under the engine's lock, or by the thread when it wakes.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class ThreadSleep {
 public:
  void begins(Time until) { until_ns_.store(until.ns, std::memory_order_relaxed); }
  /// It is awake, or will be: one kick is enough.
  void ends() { until_ns_.store(kAwake, std::memory_order_relaxed); }
  bool is_awake() const { return until_ns_.load(std::memory_order_relaxed) == kAwake; }
  /// Only if it is not awake; kNever: until it is woken.
  Time until() const { return Time{until_ns_.load(std::memory_order_relaxed)}; }

 private:
  static constexpr std::int64_t kAwake = 0;
  std::atomic<std::int64_t> until_ns_{kAwake};
};

}  // namespace verbena::host
