// UseCount: how many objects stand on another one, which may not go before them.
//
// Solely the count. Whoever adds one takes it back once: taking back what was not added is a defect of this library,
// and ends the process here rather than as a structure that is freed under its users.
// Tested by: tests/shim/verbs/objects_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/assert.h"

namespace verbena::shim {

class UseCount {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    const std::uint32_t before = count_.fetch_sub(1, std::memory_order_relaxed);
    VERBENA_ASSERT(before != 0);
  }
  bool in_use() const { return count_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace verbena::shim
