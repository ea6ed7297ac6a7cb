#include "emulator/nic/objects/completion_queue.h"

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
    if (!ignores_overrun_) {
      overrun_ = true;
      return Push::overrun_first;
    }
    ++head_;
  }
  Completion& place = ring_[tail_++ & mask_];
  place = completion;
  place.time = now;
  if (armed_ == Armed::next || (armed_ == Armed::solicited && solicited)) {
    if (moderation_count_ != 0 || moderation_period_.ns != 0) return push_moderated(now);
    armed_ = Armed::no;
    return Push::notify;
  }
  return Push::stored;
}

CompletionQueue::Push CompletionQueue::push_moderated(Time now) {
  if (++delayed_ < moderation_count_ || moderation_count_ == 0) {
    if (delayed_ == 1 && moderation_period_.ns != 0) notify_at_ = now + moderation_period_;
    return Push::delayed;
  }
  end_moderation();
  return Push::notify;
}

void CompletionQueue::end_moderation() {
  armed_ = Armed::no;
  delayed_ = 0;
  notify_at_ = kNever;
}

void CompletionQueue::moderate(std::uint16_t count, Duration period) {
  const bool is_each = count == 1 || (count == 0 && period.ns == 0);
  moderation_count_ = is_each ? std::uint16_t{0} : count;
  moderation_period_ = is_each ? Duration{} : period;
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
