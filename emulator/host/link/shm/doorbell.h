// Doorbell: how a process that sleeps over its rings is woken by who puts frames into one, and by nobody in vain.
//
// Solely responsible for the word `asleep` in the sleeper's page (ProcessPage) and the order of what is done to it:
//   sleeper   says that it sleeps; looks into its rings once more; sleeps if nothing waits
//   ringer    puts frames into a ring; looks whether the sleeper sleeps; rings if it was the one to say that it does so
//             no longer
// All four are sequentially consistent, so that either the sleeper sees the frames or the ringer sees the sleeper, and
// of several ringers one rings. A ringer that publishes with less (a frame behind others that are on their way) has to
// look again later (peer_watch.h). No lock, no pointer: either may be killed anywhere. `Word` is std::atomic_ref,
// or a test's, which tries every order (tests/host/link/shm/doorbell_test.cc). It knows no rings and no descriptors.
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
    asleep_.store(1, std::memory_order_seq_cst);
    if (!is_waiting()) return true;
    asleep_.store(0, std::memory_order_relaxed);
    return false;
  }
  /// It looks into its rings again, so nobody needs to ring. Cheap where nothing changes.
  void disarm() {
    if (asleep_.load(std::memory_order_relaxed) != 0) asleep_.store(0, std::memory_order_relaxed);
  }

  // -- A ringer, which has published --

  bool is_armed() const { return asleep_.load(std::memory_order_seq_cst) != 0; }
  /// Whether to ring: it sleeps, and nobody else rings. A look first: the line of who is awake stays where it is.
  bool take() { return is_armed() && asleep_.exchange(0, std::memory_order_acq_rel) != 0; }

 private:
  Word asleep_;
};

using SharedDoorbell = Doorbell<std::atomic_ref<std::uint32_t>>;

}  // namespace verbena::host
