// VainPolls: what an application that polls in vain does for whoever shares its core.
//
// PollYield decides when; this asks whom it is for, and rests. Solely responsible for knowing who rests.
// Tested by: tests/host/engine/poll_yield_test.cc, tests/programs/busy.py
#pragma once

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
    Duration longest{};
    CoreRest::Begun begun;
  };
  // Under the engine's lock.
  void found() { poll_yield_.found(); }
  /// A poll has found nothing. `prepare(now)`: sends what waits for nothing but the caller, and says when something is
  /// due that it looks after.
  template <class Clock, class Prepare>
  Decision missed(Clock& clock, Prepare&& prepare) {
    if (!poll_yield_.is_due()) return {};
    const Time now = clock.now();
    Decision decision = decide();
    if (decision.rest != PollYield::Kind::none) begin(decision, prepare(now) - now);
    return decision;
  }

  // Outside of it.
  /// What was decided, after all is flushed. True: poll again.
  bool rest(const Decision& decision);
  /// Frames were taken, by any thread.
  void took_frames() {
    if (resting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_all();
  }

 private:
  Decision decide();
  bool others_need_core(Time now);
  void begin(Decision& decision, Duration until_due);
  void wake_all();

  const LiveNic& live_;
  PollYield poll_yield_;
  CoreShare core_share_;
  std::uint32_t looks_beside_relay_ = 0;
  bool has_choice_of_cores_ = true;        // the thread that was asked last
  std::atomic<std::uint32_t> resting_{0};  // threads
};

}  // namespace verbena::host
