// Doorbell: how a process that sleeps over its rings is woken by who puts frames into one, and by nobody in vain.
//
// Solely responsible for the word `asleep` in the sleeper's page (ProcessPage) and the order of what is done to it:
//   sleeper   says that it sleeps; looks into its rings once more; sleeps if nothing waits
//   ringer    puts frames into a ring; looks whether the sleeper sleeps; rings if it has not rung for that sleep yet
// Only the sleeper writes the word: it counts, odd while it sleeps, and a ringer keeps in mind for which sleep it has
// rung. So a ringer that is killed, or that means ill, keeps no other one from ringing. All of it is sequentially
// consistent, so that either the sleeper sees the frames or the ringer sees the sleeper; of several ringers each may
// ring, once. A ringer that publishes with less (a frame behind others that are on their way) has to look again later
// (peer_watch.h). No lock, no pointer: either may be killed anywhere. `Word` is std::atomic_ref, or a test's, which
// tries every order (tests/host/link/shm/doorbell_test.cc). It knows no rings and no descriptors.
#pragma once

#include <atomic>
#include <cstdint>

namespace verbena::host {

template <class Word>
class Doorbell {
 public:
  explicit Doorbell(Word asleep) : asleep_(asleep) {}

  // -- The sleeper --

  /// `is_waiting()`: whether something is in a ring, by sequentially consistent loads. False: it does, so do not sleep.
  template <class IsWaiting>
  bool arm(IsWaiting&& is_waiting) {
    const std::uint32_t sleep = (asleep_.load(std::memory_order_relaxed) + 1) | 1;
    asleep_.store(sleep, std::memory_order_seq_cst);
    if (!is_waiting()) return true;
    asleep_.store(sleep + 1, std::memory_order_relaxed);
    return false;
  }
  /// It looks into its rings again, so nobody needs to ring. Cheap where nothing changes.
  void disarm() {
    const std::uint32_t sleep = asleep_.load(std::memory_order_relaxed);
    if (is_odd(sleep)) asleep_.store(sleep + 1, std::memory_order_relaxed);
  }

  // -- A ringer, which has published. `rung`: its own memory of the last sleep that it has rung for, at first 0. --

  bool is_armed(std::uint32_t rung) const {
    const std::uint32_t sleep = asleep_.load(std::memory_order_seq_cst);
    return is_odd(sleep) && sleep != rung;
  }
  /// Whether it sleeps, rung or not.
  bool is_asleep() const { return is_odd(asleep_.load(std::memory_order_seq_cst)); }
  /// Whether to ring: it sleeps, and has not been rung for that by this ringer.
  bool take(std::uint32_t& rung) {
    const std::uint32_t sleep = asleep_.load(std::memory_order_seq_cst);
    if (!is_odd(sleep) || sleep == rung) return false;
    rung = sleep;
    return true;
  }

 private:
  static bool is_odd(std::uint32_t count) { return (count & 1) != 0; }

  Word asleep_;
};

using SharedDoorbell = Doorbell<std::atomic_ref<std::uint32_t>>;

}  // namespace verbena::host
