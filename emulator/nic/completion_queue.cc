#include "emulator/nic/completion_queue.h"

#include <algorithm>
#include <bit>

namespace verbena::nic {

void CompletionQueue::set_entries(std::uint32_t entries) {
  entries_ = entries;
  ring_.resize(std::bit_ceil(entries));
  mask_ = static_cast<std::uint32_t>(ring_.size()) - 1;
}

CompletionQueue::Push CompletionQueue::push(const Completion& completion, Time now, bool solicited) {
  if (overrun_) return Push::overrun_again;
  if (depth() >= entries_) {
    overrun_ = true;
    return Push::overrun_first;
  }
  Completion& place = ring_[tail_++ & mask_];
  place = completion;
  place.time = now;
  if (armed_ == Armed::next || (armed_ == Armed::solicited && solicited)) {
    armed_ = Armed::no;
    return Push::notify;
  }
  return Push::stored;
}

std::size_t CompletionQueue::poll(std::span<Completion> into) {
  const std::size_t count = std::min<std::size_t>(depth(), into.size());
  for (std::size_t i = 0; i < count; ++i) into[i] = ring_[head_++ & mask_];
  return count;
}

void CompletionQueue::purge(wire::Qpn qpn) {
  std::uint32_t keep = head_;
  for (std::uint32_t i = head_; i != tail_; ++i)
    if (ring_[i & mask_].qpn != qpn) ring_[keep++ & mask_] = ring_[i & mask_];
  tail_ = keep;
}

bool CompletionQueue::resize(std::uint32_t entries) {
  if (entries < depth()) return false;
  std::vector<Completion> fresh(std::bit_ceil(entries));
  const std::uint32_t waiting = depth();
  for (std::uint32_t i = 0; i < waiting; ++i) fresh[i] = ring_[(head_ + i) & mask_];
  ring_ = std::move(fresh);
  mask_ = static_cast<std::uint32_t>(ring_.size()) - 1;
  head_ = 0;
  tail_ = waiting;
  entries_ = entries;
  return true;
}

}  // namespace verbena::nic
