// DeadlineQueue: which of many sources is due next. Each source has at most one deadline.
//
// A timing wheel of one nanosecond a place for what is near, which is nearly everything in a network: setting and
// taking cost the same however many sources there are. What is farther away than the wheel reaches waits in a heap.
// What is due at one time is given out together, in the order of the sources' numbers: a total order that does not
// depend on how it came about. Time never goes back: a deadline in the past is due at once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "wire/time.h"

namespace verbena::fabric {

class DeadlineQueue {
 public:
  explicit DeadlineQueue(std::uint32_t sources);

  /// kNever: none.
  void set(std::uint32_t source, Time when) {
    if (when.ns < present_) when.ns = present_;
    Entry& entry = entries_[source];
    if (entry.when == when) return;
    if (entry.when != kNever) remove(source);
    entry.when = when;
    if (when == kNever) return;
    if (when.ns - present_ < kPlaces)
      link(source, entry);
    else
      push_far(source);
    if (is_earliest_known_ && when.ns < earliest_) earliest_ = when.ns;
  }
  Time when(std::uint32_t source) const { return entries_[source].when; }

  Time earliest() const {
    if (!is_earliest_known_) find_earliest();
    return Time{earliest_};
  }
  /// Appends the sources that are due after `after` and by `until`, but not those far away. A view ahead, for fetching
  /// from memory what will be needed.
  void peek(Time after, Time until, std::vector<std::uint32_t>& into) const;
  /// Appends the sources that are due at earliest() to `into`, in order; they have no deadline then.
  void take_earliest(std::vector<std::uint32_t>& into);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kFar = UINT32_MAX - 1;
  static constexpr std::int64_t kPlaces = 8192;  // nanoseconds that the wheel reaches
  static constexpr std::uint32_t kWords = kPlaces / 64;

  struct Entry {
    Time when = kNever;
    std::uint32_t next = kNone;      // kFar: it is in the heap
    std::uint32_t previous = kNone;  // in the heap: the place there
  };
  static_assert(sizeof(Entry) == 16);

  static std::uint32_t place_of(Time when) { return static_cast<std::uint32_t>(when.ns) & (kPlaces - 1); }
  void link(std::uint32_t source, Entry& entry) {
    const std::uint32_t place = place_of(entry.when);
    std::uint32_t& head = heads_[place];
    entry.previous = kNone;
    entry.next = head;
    if (head != kNone) entries_[head].previous = source;
    head = source;
    occupied_[place / 64] |= std::uint64_t{1} << place % 64;
  }
  void remove(std::uint32_t source);
  void push_far(std::uint32_t source);
  void remove_far(std::uint32_t position);
  void put_far(std::uint32_t position, std::uint32_t source);
  void sift_up(std::uint32_t position);
  void sift_down(std::uint32_t position);
  void find_earliest() const;

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_;
  std::array<std::uint64_t, kWords> occupied_{};
  std::vector<std::uint32_t> far_;  // 4-ary heap of sources
  std::int64_t present_ = 0;        // nothing is due before
  mutable std::int64_t earliest_ = kNever.ns;
  mutable bool is_earliest_known_ = true;
};

}  // namespace verbena::fabric
