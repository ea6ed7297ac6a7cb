#include "emulator/host/fabric_process/yielded_cores.h"

#include <algorithm>

namespace verbena::host {

void YieldedCores::ask(bool is_short_of_a_core) {
  if (asks_ == is_short_of_a_core) return;
  asks_ = is_short_of_a_core;
  wants_core_of(peers_.page().words()).store(asks_ ? 1 : 0, std::memory_order_release);
}

bool YieldedCores::has_any() const {
  return asks_ && std::ranges::any_of(peers_.channels(), [](const auto& channel) { return has_yielded(*channel); });
}

bool YieldedCores::has_yielded(const ShmChannel& channel) {
  const ProcessPages pages = channel.peer_pages();
  return pages.told != nullptr && yielded_of(*pages.wake).is_resting();
}

bool YieldedCores::give_back(const ShmChannel& channel) {
  return has_yielded(channel) && yielded_of(*channel.peer_pages().wake).end();
}

void YieldedCores::give_all_back() {
  for (const auto& channel : peers_.channels()) give_back(*channel);
}

void YieldedCores::count_polls_beside() {
  const std::uint32_t own = present_core();
  for (const auto& channel : peers_.channels())
    channel->polls_at_arm = channel->peer_core() == own ? channel->peer_polls() : 0;
}

bool YieldedCores::was_polled_beside() const {
  return std::ranges::any_of(peers_.channels(), [](const auto& channel) {
    return channel->polls_at_arm != 0 && channel->polls_at_arm != channel->peer_polls();
  });
}

}  // namespace verbena::host
