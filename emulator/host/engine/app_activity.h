// AppActivity: what the application's threads do, as the progress thread sees it without the engine's lock.
//
// Solely responsible for counting polls and calls. They are hints: a thread that reads them may be a moment late.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/engine/wait_policy.h"

namespace verbena::host {

class AppActivity {
 public:
  // Under the engine's lock: one writer at a time.
  void polled() { add_one(polls_); }
  void called(int core) {
    add_one(calls_);
    seen_on(core);
  }
  void seen_on(int core) { core_.store(core, std::memory_order_relaxed); }
  /// It waits for an event in the kernel, until it polls or calls again.
  void goes_to_sleep() { at_sleep_.store(polls() + calls(), std::memory_order_relaxed); }

  std::uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }
  WaitPolicy::Activity seen() const {
    const std::uint64_t polls = this->polls();
    const std::uint64_t calls = this->calls();
    return {.polls = polls,
            .calls = calls,
            .core = core_.load(std::memory_order_relaxed),
            .sleeps = polls + calls == at_sleep_.load(std::memory_order_relaxed)};
  }

 private:
  static void add_one(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<int> core_{-1};
  std::atomic<std::uint64_t> at_sleep_{0};  // polls and calls, when an application thread went to sleep
};

}  // namespace verbena::host
