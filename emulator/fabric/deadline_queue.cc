#include "emulator/fabric/deadline_queue.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::fabric {

DeadlineQueue::DeadlineQueue(std::uint32_t sources) : entries_(sources), heads_(kPlaces, kNone) {}

void DeadlineQueue::remove(std::uint32_t source) {
  Entry& entry = entries_[source];
  if (entry.when.ns == earliest_) is_earliest_known_ = false;
  if (entry.next == kFar) {
    remove_far(entry.previous);
    return;
  }
  const std::uint32_t place = place_of(entry.when);
  (entry.previous != kNone ? entries_[entry.previous].next : heads_[place]) = entry.next;
  if (entry.next != kNone) entries_[entry.next].previous = entry.previous;
  if (heads_[place] == kNone) occupied_[place / 64] &= ~(std::uint64_t{1} << place % 64);
}

void DeadlineQueue::find_earliest() const {
  is_earliest_known_ = true;
  earliest_ = far_.empty() ? kNever.ns : entries_[far_.front()].when.ns;
  // The wheel holds [present, present + kPlaces): from the present's place once around.
  const std::uint32_t start = place_of(Time{present_});
  std::uint64_t word = occupied_[start / 64] & (~std::uint64_t{0} << start % 64);
  for (std::uint32_t i = 0; i <= kWords; ++i) {
    const std::uint32_t index = (start / 64 + i) % kWords;
    if (i != 0) word = occupied_[index];
    if (word == 0) continue;
    const auto place = index * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
    earliest_ = std::min(earliest_, present_ + static_cast<std::int64_t>((place - start) & (kPlaces - 1)));
    return;
  }
}

void DeadlineQueue::peek(Time after, Time until, std::vector<std::uint32_t>& into) const {
  const std::int64_t last = std::min(until.ns, present_ + kPlaces - 1);
  for (std::int64_t ns = std::max(after.ns + 1, present_); ns <= last;) {
    const std::uint32_t place = place_of(Time{ns});
    const std::uint64_t word = occupied_[place / 64] >> place % 64;
    if ((word & 1) != 0)
      for (std::uint32_t source = heads_[place]; source != kNone; source = entries_[source].next)
        into.push_back(source);
    // To the next place that is occupied, or to the next word.
    const std::uint64_t rest = word >> 1;
    ns += rest != 0 ? 1 + std::countr_zero(rest) : 64 - place % 64;
  }
}

void DeadlineQueue::take_earliest(std::vector<std::uint32_t>& into) {
  const Time now = earliest();
  VERBENA_ASSERT(now != kNever);
  const std::size_t first = into.size();
  // The place may belong to a later time only if nothing is due now in the wheel.
  const std::uint32_t place = place_of(now);
  std::uint32_t source = heads_[place];
  if (source != kNone && entries_[source].when == now) {
    for (; source != kNone; source = entries_[source].next) {
      entries_[source].when = kNever;
      into.push_back(source);
    }
    heads_[place] = kNone;
    occupied_[place / 64] &= ~(std::uint64_t{1} << place % 64);
  }
  while (!far_.empty() && entries_[far_.front()].when == now) {
    const std::uint32_t due = far_.front();
    remove_far(0);
    entries_[due].when = kNever;
    into.push_back(due);
  }
  if (into.size() - first > 1) std::sort(into.begin() + static_cast<std::ptrdiff_t>(first), into.end());
  present_ = now.ns;
  is_earliest_known_ = false;
}

void DeadlineQueue::put_far(std::uint32_t position, std::uint32_t source) {
  far_[position] = source;
  entries_[source].previous = position;
}

void DeadlineQueue::push_far(std::uint32_t source) {
  entries_[source].next = kFar;
  far_.push_back(source);
  put_far(static_cast<std::uint32_t>(far_.size() - 1), source);
  sift_up(static_cast<std::uint32_t>(far_.size() - 1));
}

void DeadlineQueue::remove_far(std::uint32_t position) {
  const std::uint32_t last = far_.back();
  far_.pop_back();
  if (position == far_.size()) return;
  put_far(position, last);
  sift_up(position);
  sift_down(entries_[last].previous);
}

void DeadlineQueue::sift_up(std::uint32_t position) {
  const std::uint32_t source = far_[position];
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / 4;
    if (entries_[far_[parent]].when <= entries_[source].when) break;
    put_far(position, far_[parent]);
    position = parent;
  }
  put_far(position, source);
}

void DeadlineQueue::sift_down(std::uint32_t position) {
  const std::uint32_t source = far_[position];
  const auto size = static_cast<std::uint32_t>(far_.size());
  for (;;) {
    const std::uint32_t first = 4 * position + 1;
    if (first >= size) break;
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < std::min(first + 4, size); ++child)
      if (entries_[far_[child]].when < entries_[far_[least]].when) least = child;
    if (entries_[source].when <= entries_[far_[least]].when) break;
    put_far(position, far_[least]);
    position = least;
  }
  put_far(position, source);
}

}  // namespace verbena::fabric
