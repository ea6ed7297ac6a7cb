// VainPolls: what an application that polls in vain does for whoever shares its core.
//
// PollYield decides when; this asks whom it is for, and rests. Solely responsible for knowing who rests.
// Tested by: tests/host/engine/poll_yield_test.cc, tests/programs/busy.py
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "emulator/host/engine/core_share.h"
#include "emulator/host/engine/live_nic.h"
#include "emulator/host/engine/poll_yield.h"

namespace verbena::host {

class VainPolls {
 public:
  explicit VainPolls(const LiveNic& live) : live_(live) {}

  struct Decision {
    PollYield::Kind rest = PollYield::Kind::none;
    bool was_due = false;  // the thread polls in vain for long
    Duration longest{};
    RestSet by;
  };
  // Under the engine's lock.
  void found() { poll_yield_.found(); }
  /// A poll has found nothing. `prepare(now)`: sends what waits for nothing but the caller, and says when something is
  /// due that it looks after.
  template <class Clock, class Prepare>
  void missed(Clock& clock, Prepare&& prepare, Decision& decision) {
    if (!poll_yield_.is_due()) return;
    decision.was_due = true;
    const Time now = clock.now();
    decision.rest = decide();
    if (decision.rest == PollYield::Kind::none) return;
    if (!begin(decision, std::min(PollYield::longest(decision.rest), prepare(now) - now)))
      decision.rest = PollYield::Kind::none;
  }
  /// The calling thread rests over a poll of another engine, and polls this one as well (JoinedRest): adds what ends
  /// the rest. False: there is something to do.
  template <class Clock, class Prepare>
  bool join(Clock& clock, Prepare&& prepare, Decision& decision) {
    const Time now = clock.now();
    return begin(decision, std::min(decision.longest, prepare(now) - now));
  }

  // Outside of it.
  /// What was decided, after all is flushed. It has to be finished.
  void rest(const Decision& decision);
  /// The rest that has begun is over, or does not take place.
  void finish();
  /// Frames were taken, by any thread.
  void took_frames() {
    if (resting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_all();
  }
  /// Nobody finds the engine any more: waits for those that rest over it.
  void await_all();
  /// In the child of fork(), where nobody rests.
  void abandon() { resting_.store(0, std::memory_order_relaxed); }

 private:
  PollYield::Kind decide();
  bool others_need_core(Time now);
  bool begin(Decision& decision, Duration longest);
  void wake_all();

  const LiveNic& live_;
  PollYield poll_yield_;
  CoreShare core_share_;
  std::uint32_t looks_beside_relay_ = 0;
  bool has_choice_of_cores_ = true;        // the thread that was asked last
  std::atomic<std::uint32_t> resting_{0};  // threads
};

}  // namespace verbena::host
