// Removal: whether the device is gone, or when it will be.
//
// Solely responsible for that the device goes once. What goes with it is Pass::remove_device().
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <atomic>

#include "wire/time.h"

namespace verbena::host {

class Removal {
 public:
  // Under the engine's lock.
  void plan(Time at) { at_ = at; }
  /// kNever: it is not planned.
  Time due() const { return at_; }
  /// False: the device is gone already.
  bool begin() {
    at_ = kNever;
    return !is_done_.exchange(true, std::memory_order_relaxed);
  }

  /// Any thread.
  bool is_done() const { return is_done_.load(std::memory_order_relaxed); }

 private:
  Time at_ = kNever;
  std::atomic<bool> is_done_{false};
};

}  // namespace verbena::host
