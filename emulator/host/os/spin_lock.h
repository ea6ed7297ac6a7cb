// SpinLock: the short, process-local lock of small things that a link shares between threads; the engine's is
// fair_lock.h. Never held across a system call that can wait.
// Tested by: tests/host/os/fair_lock_test.cc
#pragma once

#include <sched.h>

#include <atomic>

namespace verbena::host {

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// BasicLockable and Lockable. Yields the CPU after a while: the holder may have been descheduled.
class SpinLock {
 public:
  void lock() {
    while (locked_.exchange(true, std::memory_order_acquire)) wait();
  }
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  void wait() const {
    for (int spins = 0; locked_.load(std::memory_order_relaxed); ++spins) {
      if (spins < kSpins)
        cpu_pause();
      else
        sched_yield();
    }
  }
  static constexpr int kSpins = 200;
  std::atomic<bool> locked_{false};
};

}  // namespace verbena::host
