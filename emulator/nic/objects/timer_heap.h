// TimerHeap: the earliest deadline among many owners, each with at most one entry.
//
// Deadlines move later with every acknowledgement; the heap is told only of earlier ones. An entry that comes due
// before its owner's true deadline is put back by the caller, so that the common case costs one comparison. Allocates
// only when an owner is added (reserve).
// Tested by: tests/nic/timer_table_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "wire/assert.h"
#include "wire/time.h"

namespace verbena::nic {

/// What an owner embeds.
struct TimerEntry {
  static constexpr std::uint32_t kIdle = UINT32_MAX;
  Time when = kNever;
  std::uint32_t position = kIdle;
  std::uint32_t order = 0;  // breaks ties, so that a run replays exactly
  struct Qp* owner = nullptr;
};

class TimerHeap {
 public:
  void reserve(std::size_t owners) { heap_.reserve(owners); }
  bool empty() const { return heap_.empty(); }
  Time earliest() const { return earliest_; }
  template <class Call>
  void for_each(Call&& call) const {
    for (const TimerEntry* entry : heap_) call(*entry->owner);
  }
  /// Whether the entry is where it says, and not before the earliest.
  bool is_in_place(const TimerEntry& entry) const {
    if (entry.position == TimerEntry::kIdle) return true;
    return entry.position < heap_.size() && heap_[entry.position] == &entry && earliest_ <= entry.when &&
           earliest_ == heap_.front()->when;
  }
  TimerEntry* front() const { return heap_.empty() ? nullptr : heap_.front(); }

  /// Makes sure that the entry comes due at `when` at the latest.
  [[gnu::always_inline]] inline void at_latest(TimerEntry& entry, Time when) {
    if (entry.position == TimerEntry::kIdle) {
      entry.when = when;
      entry.position = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(&entry);
      sift_up(entry.position);
    } else if (when < entry.when) {
      entry.when = when;
      sift_up(entry.position);
    }
  }

  void remove(TimerEntry& entry) {
    if (entry.position == TimerEntry::kIdle) return;
    const std::uint32_t hole = entry.position;
    VERBENA_ASSERT(hole < heap_.size() && heap_[hole] == &entry);
    entry.position = TimerEntry::kIdle;
    TimerEntry* last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) earliest_ = kNever;
    if (last == &entry) return;
    place(hole, last);
    sift_up(hole);
    sift_down(last->position);
  }

 private:
  static bool before(const TimerEntry* a, const TimerEntry* b) {
    return a->when != b->when ? a->when < b->when : a->order < b->order;
  }
  void place(std::uint32_t position, TimerEntry* entry) {
    heap_[position] = entry;
    entry->position = position;
    if (position == 0) earliest_ = entry->when;
  }
  void sift_up(std::uint32_t position) {
    TimerEntry* entry = heap_[position];
    while (position > 0 && before(entry, heap_[(position - 1) / 2])) {
      place(position, heap_[(position - 1) / 2]);
      position = (position - 1) / 2;
    }
    place(position, entry);
  }
  void sift_down(std::uint32_t position) {
    TimerEntry* entry = heap_[position];
    for (;;) {
      std::uint32_t child = 2 * position + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entry)) break;
      place(position, heap_[child]);
      position = child;
    }
    place(position, entry);
  }
  Time earliest_ = kNever;  // of the first one
  std::vector<TimerEntry*> heap_;
};

}  // namespace verbena::nic
