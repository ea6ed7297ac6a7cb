#include "emulator/host/fabric_process/core_borrower.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace verbena::host {

void CoreBorrower::borrow(bool is_short_of_a_core) {
  if (borrows_ == is_short_of_a_core) return;
  borrows_ = is_short_of_a_core;
  borrows_of(peers_.page().words()).store(borrows_ ? 1 : 0, std::memory_order_release);
}

bool CoreBorrower::has_lenders() const {
  return borrows_ && std::ranges::any_of(peers_.channels(), [](const auto& channel) { return is_lent(*channel); });
}

bool CoreBorrower::is_lent(const ShmChannel& channel) {
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  return page != nullptr && lends_of(*page).load(std::memory_order_seq_cst) != 0;
}

bool CoreBorrower::give_back(const ShmChannel& channel) {
  if (!is_lent(channel)) return false;
  ProcessPage* const page = channel.peer_page.load(std::memory_order_acquire);
  if (lends_of(*page).exchange(0, std::memory_order_acq_rel) == 0) return false;
  syscall(SYS_futex, &page->lends, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return true;
}

void CoreBorrower::give_all_back() {
  for (const auto& channel : peers_.channels()) give_back(*channel);
}

void CoreBorrower::count_polls_beside() {
  const std::uint32_t own = present_core();
  for (const auto& channel : peers_.channels())
    channel->polls_at_arm = channel->peer_core() == own ? channel->peer_polls() : 0;
}

bool CoreBorrower::was_polled_beside() const {
  return std::ranges::any_of(peers_.channels(), [](const auto& channel) {
    return channel->polls_at_arm != 0 && channel->polls_at_arm != channel->peer_polls();
  });
}

}  // namespace verbena::host
