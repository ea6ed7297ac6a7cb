// ShmLink: what a fabric process and those who poll on its core do for each other.
//
// A core that the fabric process sleeps on while an application polls there without end serves neither: each frame
// rings, and pays two switches, and the scheduler gives the fabric process its half of the time and no more. While it
// is short of a core (CoreLease) it says so in its page (`borrows`). Applications then leave their frames without a
// doorbell as long as they have more to do, and one that polls in vain lends the core: it says so in its own page
// (`lends`), wakes the fabric process and sleeps, until that one gives the core back: with frames, or before it sleeps
// itself.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "emulator/host/link/shm/shm_link.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {
namespace {
std::atomic_ref<std::uint32_t> borrows(ProcessPage& page) {
  return std::atomic_ref<std::uint32_t>(page.borrows);
}
std::atomic_ref<std::uint32_t> lends(ProcessPage& page) {
  return std::atomic_ref<std::uint32_t>(page.lends);
}
}  // namespace

// -- Of an uplink ------------------------------------------------------------

/// No fence and no doorbell while the fabric port borrows. Should it be about to sleep without having seen the frames,
/// the next poll that finds nothing looks again, and so does arm(); a tick of the fabric port's clock is the latest.
void ShmLink::publish_to_port(ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  const bool is_borrowing = page != nullptr && borrows(*page).load(std::memory_order_relaxed) != 0;
  channel.tx.publish(!is_borrowing);
  // Once more: this thread may have stood still in between for longer than the fabric port borrowed.
  if (is_borrowing && borrows(*page).load(std::memory_order_acquire) != 0) {
    has_left_frames_ = true;
    ring_at_ = Time{};
    return;
  }
  wake_if_asleep(channel);
}

/// Whoever polls on the fabric port's core lends it soon. If nobody does, a doorbell is late, but not lost.
void ShmLink::look_after_left_frames(Time now) {
  const auto& port = routes_.front().tx;
  if (port == nullptr || has_taken_all(*port)) {
    has_left_frames_ = false;
    return;
  }
  if (ring_at_ == Time{}) ring_at_ = now + kLeftMax;
  if (now >= ring_at_ && wake(*port)) {
    port->rung = true;
    has_left_frames_ = false;
  }
}

/// After `asleep` was set: either the fabric port sees the frames before it sleeps, or it is seen asleep here.
void ShmLink::ring_for_left_frames() {
  has_left_frames_ = false;
  const auto& port = routes_.front().tx;
  if (port != nullptr && !has_taken_all(*port)) port->rung = wake(*port);
}

bool ShmLink::offers_core() {
  if (role_ != ShmRole::uplink) return false;
  const auto& port = routes_.front().tx;
  if (port == nullptr) return false;
  ProcessPage* const page = port->peer_page.load(std::memory_order_acquire);
  if (page == nullptr || borrows(*page).load(std::memory_order_relaxed) == 0 || !rests_behind_us(*port)) return false;
  const Time now = clock_now();
  const bool polls_without_end = now - polled_in_vain_at_ < kPollsWithoutEnd;
  polled_in_vain_at_ = now;
  if (!polls_without_end || now.ns < lends_not_before_ns_.load(std::memory_order_relaxed)) return false;
  lends(control_->page()).store(1, std::memory_order_seq_cst);
  const bool waiting =
      std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->rx.waiting(); });
  if (waiting) {
    lends(control_->page()).store(0, std::memory_order_relaxed);
    return false;
  }
  // Not before it is seen that the core is lent: a fabric port that finds nothing to do sleeps again.
  if (wake(*port)) has_left_frames_ = false;
  return true;
}

void ShmLink::lend_core() {
  const timespec limit{0, kLentMax.ns};
  const int kept = errno;
  ProcessPage& page = control_->page();
  if (syscall(SYS_futex, &page.lends, FUTEX_WAIT, 1, &limit, nullptr, 0) != 0 && errno == ETIMEDOUT) {
    lends(page).store(0, std::memory_order_relaxed);
    lends_not_before_ns_.store((clock_now() + kRefusesToLend).ns, std::memory_order_relaxed);
  }
  errno = kept;
}

bool ShmLink::wants_one_answer_for_all() const {
  return role_ == ShmRole::uplink &&
         std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->rx.waiting(); });
}

// -- Of a fabric port ------------------------------------------------------------

void ShmLink::borrow(bool is_short_of_a_core) {
  if (borrows_ == is_short_of_a_core) return;
  borrows_ = is_short_of_a_core;
  borrows(control_->page()).store(borrows_ ? 1 : 0, std::memory_order_release);
}

void ShmLink::count_polls_beside() {
  const auto own = static_cast<std::uint32_t>(sched_getcpu() + 1);
  for (const auto& channel : channels_) channel->polls_at_arm = core_of(*channel) == own ? polls_of(*channel) : 0;
}

bool ShmLink::was_polled_beside() const {
  return std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) {
    return channel->polls_at_arm != 0 && channel->polls_at_arm != polls_of(*channel);
  });
}

bool ShmLink::is_lent(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page != nullptr && lends(*page).load(std::memory_order_seq_cst) != 0;
}

bool ShmLink::has_lenders() const {
  return borrows_ &&
         std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) { return is_lent(*channel); });
}

bool ShmLink::give_core_back(const ShmChannel& channel) {
  if (!is_lent(channel)) return false;
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  if (lends(*page).exchange(0, std::memory_order_acq_rel) == 0) return false;
  syscall(SYS_futex, &page->lends, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return true;
}

void ShmLink::give_cores_back() {
  for (const auto& channel : channels_) give_core_back(*channel);
}

}  // namespace verbena::host
