// UplinkYield: a directed yield, by an application that polls to a fabric process that needs the core it polls on.
//
// A core that the fabric process sleeps on while an application polls there without end serves neither: each frame
// rings, and pays two switches, and the scheduler gives the fabric process its half of the time and no more. While it
// is short of a core (fabric_process/core_lease.h) it says so in its page (`wants_core`). Applications then leave their
// frames without a doorbell as long as they have more to do, and one that polls in vain yields it: it says so in
// its wake page (`yielded`), wakes the fabric process and sleeps, until that one gives the core back: with frames, or
// before it sleeps itself (fabric_process/yielded_cores.h). Solely the application's side of this.
// Tested by: tests/host/fabric_process/directed_yield_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/link/peer_scheduling.h"
#include "emulator/host/link/shm/shm_peers.h"

namespace verbena::host {

class UplinkYield final : public DirectedYield {
 public:
  /// The fabric port is the first route of `peers`.
  explicit UplinkYield(ShmPeers& peers) : peers_(peers) {}

  bool wants_to_yield() override;
  void yield_core() override;

  /// Publishes what was committed. True: it is left without a doorbell. No fence and no doorbell while the fabric port
  /// wants a core: should it be about to sleep without having seen the frames, the next poll that finds nothing looks
  /// again, and so does who goes to sleep; a tick of the fabric port's clock is the latest.
  bool publish(ShmChannel& channel);
  bool has_left_frames() const { return has_left_frames_; }
  /// After a poll that found nothing. Who polls on the fabric port's core yields it soon; if nobody does, a doorbell
  /// is late, but not lost.
  void look_after_left_frames(Time now);
  /// After arm(): either the fabric port sees the frames before it sleeps, or it is seen asleep here.
  void ring_for_left_frames();

  static constexpr Duration kPollsWithoutEnd = microseconds(10);  // from one that finds nothing to the next
  static constexpr Duration kLeftMax = microseconds(50);          // without a doorbell, while nobody yields a core
  static constexpr Duration kYieldMax = milliseconds(5);          // to a fabric port that is dead or stands still
  static constexpr Duration kRefusesToYield = milliseconds(100);  // after that

 private:
  ShmChannel* port() const { return peers_.routes().front().tx.get(); }

  ShmPeers& peers_;
  bool has_left_frames_ = false;
  Time ring_at_{};  // for them; zero: not known yet
  Time polled_in_vain_at_{};
  std::atomic<std::int64_t> yields_not_before_ns_{0};
};

}  // namespace verbena::host
