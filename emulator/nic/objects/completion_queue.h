// CompletionQueue: completions in order, the notification state, and what happens on overrun.
//
// Events are only marked here; NicState hands them to the owner.
// Tested by: tests/nic/queue_test.cc, tests/nic/moderation_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/handles.h"

namespace verbena::nic {

class CompletionQueue {
 public:
  CqHandle handle;
  std::uint64_t context = 0;
  std::uint32_t number = 0;  // by which a plan of faults names it
  std::uint32_t users = 0;   // QPs that complete here, each counted once per queue

  void set_entries(std::uint32_t entries);
  std::uint32_t entries() const { return entries_; }
  std::uint32_t depth() const { return tail_ - head_; }
  bool overrun() const { return overrun_; }
  /// Nothing is stored any more. False: it is so already.
  bool fail() { return !std::exchange(overrun_, true); }

  void ignore_overrun() { ignores_overrun_ = true; }
  void moderate(std::uint16_t count, Duration period);
  /// When a moderated event is due, unless more completions come first.
  Time notify_at() const { return notify_at_; }
  bool owes_event() const { return delayed_ != 0; }
  /// The period of a moderated event has run out.
  void end_moderation();

  enum class Push : std::uint8_t { stored, notify, delayed, overrun_first, overrun_again };
  /// Stamps it with the time. `solicited`: a solicited receive, or any failed completion (IBTA 11.4.2.2).
  Push push(const Completion& completion, Time now, bool solicited);
  /// Calls `each` for those that it gives, the oldest first.
  template <class Each>
  std::size_t poll(std::span<Completion> into, Each&& each) {
    const std::size_t count = std::min<std::size_t>(depth(), into.size());
    const std::uint32_t first = head_;
    head_ += static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Completion& place = ring_[(first + i) & mask_];
      into[i] = place;
      each(place);
    }
    return count;
  }
  void request_notification(bool solicited_only) {
    // A request for all completions is not weakened by a later one for solicited ones only (IBTA 11.4.2.2).
    if (armed_ != Armed::next) armed_ = solicited_only ? Armed::solicited : Armed::next;
  }
  /// Drops those that `is_gone` names, asked for each, the oldest first.
  template <class IsGone>
  void remove_if(IsGone&& is_gone) {
    std::uint32_t keep = head_;
    for (std::uint32_t i = head_; i != tail_; ++i)
      if (!is_gone(std::as_const(ring_[i & mask_]))) ring_[keep++ & mask_] = ring_[i & mask_];
    tail_ = keep;
  }
  /// False: more completions wait than fit into `entries`.
  bool resize(std::uint32_t entries);

 private:
  enum class Armed : std::uint8_t { no, solicited, next };
  Push push_moderated(Time now);
  std::vector<Completion> ring_;  // a power of two; entries_ is the limit
  std::uint32_t mask_ = 0;
  std::uint32_t entries_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  Armed armed_ = Armed::no;
  bool overrun_ = false;
  bool ignores_overrun_ = false;
  std::uint16_t moderation_count_ = 0;  // both 0: none
  std::uint32_t delayed_ = 0;           // completions that an event is owed for
  Duration moderation_period_{};
  Time notify_at_ = kNever;
};

}  // namespace verbena::nic
