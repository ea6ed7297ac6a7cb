#include "emulator/host/engine/vain_polls.h"

#include <sched.h>

#include <cerrno>

#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/os/nap.h"

namespace verbena::host {

/// Who shares the core is known of peers over shared memory; of others only that there is no other core to be on.
VainPolls::Decision VainPolls::decide(PeerScheduling* scheduling, PassClock& clock) {
  using Neighbour = PeerScheduling::Neighbour;
  const bool asks_for_cores = poll_yield_.is_due_for_cores();
  Neighbour neighbour = scheduling != nullptr ? scheduling->neighbour() : Neighbour::nobody;
  if (neighbour == Neighbour::nobody && has_one_core_.load(std::memory_order_relaxed)) neighbour = Neighbour::awake;
  return {poll_yield_.of(neighbour, clock.now()), asks_for_cores};
}

void VainPolls::yield(PollYield::Kind kind) {
  const int kept = errno;
  const Time began = clock_now();
  sched_yield();
  if (poll_yield_.yielded(kind, began, clock_now())) nap(PollYield::kNap);
  errno = kept;
}

void VainPolls::look_for_cores() {
  has_one_core_.store(is_bound_to_one_core(), std::memory_order_relaxed);
}

}  // namespace verbena::host
