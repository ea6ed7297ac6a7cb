#include "emulator/host/link/shm/directed_yield.h"

#include "emulator/host/os/clock.h"

namespace verbena::host {

bool UplinkYield::publish(ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  const bool wants_core = page != nullptr && wants_core_of(*page).load(std::memory_order_relaxed) != 0;
  channel.tx.publish(!wants_core);
  // Once more: this thread may have stood still in between for longer than the fabric port wanted a core.
  if (!wants_core || wants_core_of(*page).load(std::memory_order_acquire) == 0) return false;
  has_left_frames_ = true;
  ring_at_ = Time{};
  return true;
}

void UplinkYield::look_after_left_frames(Time now) {
  ShmChannel* const to = port();
  if (to == nullptr || to->has_taken_all()) {
    has_left_frames_ = false;
    return;
  }
  if (ring_at_ == Time{}) ring_at_ = now + kLeftMax;
  if (now < ring_at_ || !peers_.watch().wake(*to)) return;
  to->waker.was_rung();
  has_left_frames_ = false;
}

void UplinkYield::ring_for_left_frames() {
  has_left_frames_ = false;
  ShmChannel* const to = port();
  if (to != nullptr && !to->has_taken_all() && peers_.watch().wake(*to)) to->waker.was_rung();
}

bool UplinkYield::wants_to_yield() {
  ShmChannel* const to = port();
  if (to == nullptr) return false;
  ProcessPage* const page = to->peer_page.load(std::memory_order_acquire);
  if (page == nullptr || wants_core_of(*page).load(std::memory_order_relaxed) == 0 || !to->peer_sleeps_on_our_cpu())
    return false;
  const Time now = clock_now();
  const bool polls_without_end = now - polled_in_vain_at_ < kPollsWithoutEnd;
  polled_in_vain_at_ = now;
  if (!polls_without_end || now.ns < yields_not_before_ns_.load(std::memory_order_relaxed)) return false;
  RestWord yielded = yielded_of(peers_.page().wake());
  yielded.begin();
  if (has_waiting_frames(peers_)) {
    yielded.cancel();
    return false;
  }
  // Not before it is seen that the core is yielded: a fabric port that finds nothing to do sleeps again.
  if (peers_.watch().wake(*to)) has_left_frames_ = false;
  return true;
}

void UplinkYield::yield_core() {
  if (!yielded_of(peers_.page().wake()).rest(kYieldMax))
    yields_not_before_ns_.store((clock_now() + kRefusesToYield).ns, std::memory_order_relaxed);
}

}  // namespace verbena::host
