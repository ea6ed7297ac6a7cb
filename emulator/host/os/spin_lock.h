// SpinLock: the short, process-local lock of the engine and its links. Never held across a system call that can wait.
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
  /// Gives up after a while, without sched_yield(): for a thread that may have the core that the holder needs. After a
  /// sched_yield() the caller would wait until the holder's time slice is over.
  bool try_lock_briefly() {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (!locked_.load(std::memory_order_relaxed) && try_lock()) return true;
      cpu_pause();
    }
    return false;
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
