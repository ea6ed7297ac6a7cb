// PeerWatch: the peers that have frames of ours to take, and their doorbells.
//
// Solely responsible for ringing: who says that it sleeps is rung when frames are published; who does not is watched
// until it has taken them, and rung when it stands still. When that is, is peer_waker.h's to say; here it gets to see
// the channels. A ringer that publishes into an idle ring fences, reads the peer's `asleep` word and rings if need be;
// while earlier frames are still on their way it need not look, for it looks later. Under the engine's lock, without
// the kernel: doorbells are rung by whoever flushes next (deferred_work.h).
// Tested by: tests/host/link/shm/peer_waker_test.cc
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "emulator/host/link/shm/deferred_work.h"
#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/link/shm/shm_statistics.h"

namespace verbena::host {

class PeerWatch {
 public:
  struct Options {
    bool rings_the_stuck = true;   // false: the peer does nothing but serve its rings, and looks before it sleeps
    bool trusts_the_rung = false;  // who was asleep and has been rung needs no timer
  };
  PeerWatch(DeferredWork& deferred, ShmStatistics& statistics, const Options& options);

  // -- After frames were published --
  /// It says that it sleeps, and has not taken the frames since.
  static bool is_asleep_over(ShmChannel& channel);
  /// False: it has been rung by us, or has woken by itself.
  bool wake(ShmChannel& channel);
  void ring(ShmChannel& channel) { deferred_.ring(channel); }
  /// It was rung for them, or not: from now on it is watched.
  void published(ShmChannel& channel, bool is_rung);

  // -- Later --
  void look(Time now) {
    last_now_ = now;
    if (!watched_.empty()) look_at_all(now);
  }
  /// When look() is to be called, whatever comes.
  std::optional<Time> next_deadline() const;
  /// Before a sleep: each peer that needs no looking after spares a timer.
  void forget_drained();
  void remove(ShmChannel& channel);
  void clear() { watched_.clear(); }
  /// One of them was last seen on the core that the caller runs on, and has frames to take.
  bool blocks_peer_cpu();
  /// Outside of the lock: lets go of the core, if a peer that was rung sleeps on it.
  void yield_to_peers();

  static constexpr Duration kPatienceOnOurCpu = milliseconds(4);  // a tick of most kernels

 private:
  void look_at_all(Time now);
  bool look_at(ShmChannel& channel, Time now);

  DeferredWork& deferred_;
  ShmStatistics& statistics_;
  const Options options_;
  std::vector<ShmChannel*> watched_;
  Time last_now_{};
  std::atomic<bool> yields_{false};
};

}  // namespace verbena::host
