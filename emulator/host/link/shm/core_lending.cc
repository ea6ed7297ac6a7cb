#include "emulator/host/link/shm/core_lending.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "emulator/host/os/clock.h"

namespace verbena::host {

bool CoreLending::publish(ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  const bool is_borrowing = page != nullptr && borrows_of(*page).load(std::memory_order_relaxed) != 0;
  channel.tx.publish(!is_borrowing);
  // Once more: this thread may have stood still in between for longer than the fabric port borrowed.
  if (!is_borrowing || borrows_of(*page).load(std::memory_order_acquire) == 0) return false;
  has_left_frames_ = true;
  ring_at_ = Time{};
  return true;
}

void CoreLending::look_after_left_frames(Time now) {
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

void CoreLending::ring_for_left_frames() {
  has_left_frames_ = false;
  ShmChannel* const to = port();
  if (to != nullptr && !to->has_taken_all() && peers_.watch().wake(*to)) to->waker.was_rung();
}

bool CoreLending::offers_core() {
  ShmChannel* const to = port();
  if (to == nullptr) return false;
  ProcessPage* const page = to->peer_page.load(std::memory_order_acquire);
  if (page == nullptr || borrows_of(*page).load(std::memory_order_relaxed) == 0 || !to->peer_rests_behind_us())
    return false;
  const Time now = clock_now();
  const bool polls_without_end = now - polled_in_vain_at_ < kPollsWithoutEnd;
  polled_in_vain_at_ = now;
  if (!polls_without_end || now.ns < lends_not_before_ns_.load(std::memory_order_relaxed)) return false;
  const std::atomic_ref<std::uint32_t> lends = lends_of(peers_.page().words());
  lends.store(1, std::memory_order_seq_cst);
  if (has_waiting_frames(peers_)) {
    lends.store(0, std::memory_order_relaxed);
    return false;
  }
  // Not before it is seen that the core is lent: a fabric port that finds nothing to do sleeps again.
  if (peers_.watch().wake(*to)) has_left_frames_ = false;
  return true;
}

void CoreLending::lend_core() {
  const timespec limit{0, kLentMax.ns};
  const int kept = errno;
  ProcessPage& page = peers_.page().words();
  if (syscall(SYS_futex, &page.lends, FUTEX_WAIT, 1, &limit, nullptr, 0) != 0 && errno == ETIMEDOUT) {
    lends_of(page).store(0, std::memory_order_relaxed);
    lends_not_before_ns_.store((clock_now() + kRefusesToLend).ns, std::memory_order_relaxed);
  }
  errno = kept;
}

}  // namespace verbena::host
