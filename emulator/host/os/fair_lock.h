// FairLock: the short, process-local lock of an engine, which several threads of an application want at once.
//
// Solely responsible for who gets it next. A thread that polls takes the lock again a few nanoseconds after it let go
// of it, and long before another core has seen that it was free. So who has waited for a moment asks for it, in a word
// on a line of its own, and whoever comes for the lock after that stays out until the one who asked has had a turn.
// Nobody stays out for long: for one request it is kPatience at most. A thread that the machine does not run makes no
// other; it asks anew when it runs again. Where both need one core, who stays out lets go of that core.
//
// A thread that polls without end also holds the lock for nearly all of its time: whenever the machine takes its core
// away, the others wait for its next time slice. So for a while after somebody had to ask, a poll in vain leaves the
// lock free for most of the time (rest_after_vain_hold).
//
// Never held across a system call that can wait. Where nobody asks, lock() costs two loads more than an exchange.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

/// BasicLockable and Lockable.
class FairLock {
 public:
  void lock() {
    if (asked_.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed)) [[unlikely]]
      give_way();
    if (locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  /// Gives up after a while, without sched_yield(): for a thread that may have the core that the holder needs. After a
  /// sched_yield() the caller would wait until the holder's time slice is over.
  bool try_lock_briefly() { return spin_for_it(kSpins); }
  void unlock() { locked_.store(false, std::memory_order_release); }

  /// Somebody has asked for it and not had a turn since.
  bool is_asked_for() const {
    return asked_.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed);
  }

  /// After unlock(), by who has found nothing to do and comes back at once.
  void rest_after_vain_hold() {
    const std::uint32_t asked = asked_.load(std::memory_order_relaxed);
    if (asked != asked_at_rest_.load(std::memory_order_relaxed)) [[unlikely]] {
      asked_at_rest_.store(asked, std::memory_order_relaxed);
      // Its own request tells of nobody whom it keeps waiting.
      if (asker_.load(std::memory_order_relaxed) != pthread_self())
        rests_left_.store(kRestsAfterRequest, std::memory_order_relaxed);
    }
    if (const std::uint32_t left = rests_left_.load(std::memory_order_relaxed); left != 0) [[unlikely]] {
      rests_left_.store(left - 1, std::memory_order_relaxed);
      for (int pauses = kRest; pauses > 0; --pauses) cpu_pause();
    }
  }

  /// Whether the next one does.
  bool rests() const { return rests_left_.load(std::memory_order_relaxed) != 0; }

  static constexpr std::uint32_t kRestsAfterRequest = 10'000;  // some milliseconds
  static constexpr int kRest = 16;                             // several times as long as a pass that finds nothing
  static constexpr int kSpinsToAsk = 32;                       // most holders are done by then
  static constexpr int kSpins = 200;                           // then the holder may have been descheduled
  static constexpr int kPatience = 100;                        // with one who asked and is perhaps not run

 private:
  bool spin_for_it(int spins) {
    for (; spins > 0; --spins) {
      if (!locked_.load(std::memory_order_relaxed) && try_lock()) return true;
      cpu_pause();
    }
    return false;
  }
  [[gnu::noinline]] void wait() {
    if (spin_for_it(kSpinsToAsk)) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      asker_.store(pthread_self(), std::memory_order_relaxed);
      asker_core_.store(sched_getcpu(), std::memory_order_relaxed);
      asked_.fetch_add(1, std::memory_order_relaxed);
      if (spin_for_it(kSpins)) break;
      sched_yield();
    }
    // The others ask anew when they have waited in vain; for the last one nobody need stay out any more.
    if (waiting_.fetch_sub(1, std::memory_order_relaxed) == 1)
      answered_.store(asked_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  [[gnu::noinline]] void give_way() {
    const std::uint32_t asked = asked_.load(std::memory_order_relaxed);
    const bool needs_our_core = asker_core_.load(std::memory_order_relaxed) == sched_getcpu();
    for (int spins = needs_our_core ? 0 : kPatience; spins > 0; --spins) {
      if (locked_.load(std::memory_order_relaxed) || !is_asked_for()) return;
      cpu_pause();
    }
    answered_.store(asked, std::memory_order_relaxed);
    if (needs_our_core) sched_yield();
  }

  std::atomic<bool> locked_{false};
  // Changed by those who wait only, so that the line stays in the caches of the others.
  alignas(64) std::atomic<std::uint32_t> asked_{0};  // how often
  std::atomic<std::uint32_t> answered_{0};           // up to which time somebody has stayed out for it
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<pthread_t> asker_{};  // the last one
  std::atomic<int> asker_core_{-1};
  // Of those who poll in vain.
  alignas(64) std::atomic<std::uint32_t> asked_at_rest_{0};
  std::atomic<std::uint32_t> rests_left_{0};
  alignas(64) std::byte end_[1]{};
};

}  // namespace verbena::host
