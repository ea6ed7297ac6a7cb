#include "emulator/host/link/shm/outgoing_frames.h"

#include "wire/assert.h"

namespace verbena::host {

OutgoingFrames::OutgoingFrames(ShmStatistics& statistics, std::size_t publish_bytes, Duration stall_max)
    : statistics_(statistics), publish_bytes_(publish_bytes), stall_max_(stall_max) {
  dirty_.reserve(kPeersExpected);
}

std::span<std::byte> OutgoingFrames::vanish(std::uint64_t& counter, std::size_t bytes) {
  VERBENA_ASSERT(bytes <= scratch_.size());
  current_ = nullptr;
  vanish_counter_ = &counter;
  return {scratch_.data(), bytes};
}

std::span<std::byte> OutgoingFrames::reserve_in_full_ring(ShmChannel& channel, std::size_t bytes) {
  // A paused wire is paused for some time only: behind a process that is stopped, other destinations must not starve.
  if (!channel.stands_still(stall_max_)) return {};
  return vanish(statistics_.vanished_stalled, bytes);
}

void OutgoingFrames::count_vanished() {
  VERBENA_ASSERT(vanish_counter_ != nullptr);
  ++*vanish_counter_;
}

void OutgoingFrames::forget(const ShmChannel& channel) {
  std::erase(dirty_, &channel);
  if (current_ == &channel) current_ = nullptr;
}

}  // namespace verbena::host
