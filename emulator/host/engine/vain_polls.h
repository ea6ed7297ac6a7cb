// VainPolls: what an application that polls in vain does for whoever shares its core.
//
// PollYield decides when; this asks whom it is for, and yields. Solely responsible for knowing whether the polling
// thread has one core only.
// Tested by: tests/host/engine/poll_yield_test.cc
#pragma once

#include <atomic>

#include "emulator/host/engine/poll_yield.h"
#include "emulator/host/link/peer_scheduling.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {

class VainPolls {
 public:
  struct Decision {
    PollYield::Kind yield = PollYield::Kind::none;
    bool asks_for_cores = false;
  };
  // Under the engine's lock.
  void found() { poll_yield_.found(); }
  /// A poll has found nothing. `scheduling`: null where the link does not know who shares a core.
  Decision missed(PeerScheduling* scheduling, PassClock& clock) {
    return poll_yield_.is_due() ? decide(scheduling, clock) : Decision{};
  }

  // Outside of it.
  void yield(PollYield::Kind kind);
  void look_for_cores();

 private:
  Decision decide(PeerScheduling* scheduling, PassClock& clock);

  PollYield poll_yield_;
  std::atomic<bool> has_one_core_{false};  // the thread that polled in vain last
};

}  // namespace verbena::host
