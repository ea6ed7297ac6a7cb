#include "emulator/host/engine/fair_timers.h"

#include <algorithm>
#include <utility>

namespace verbena::host {

std::optional<Time> FairTimers::allow(Time due, const Look& look, const Taken& taken) {
  if (look.is_all && taken.is_all && due <= look.since) {
    rest();
    return look.since;
  }
  wants_all_.store(true, std::memory_order_relaxed);
  if (backlog_frames_ == 0) {
    // Before a look the clock may be behind, and the timer be due by now only.
    backlog_since_ = look.is_all ? look.since : due;
    backlog_frames_ = 1;
  } else if (backlog_frames_ += taken.frames; backlog_frames_ > kBacklogFramesMax) {
    backlog_frames_ = 1;
    return std::exchange(backlog_since_, std::max(look.since, due));
  }
  return std::nullopt;
}

bool FairTimers::has_left(nic::Nic& nic, Link& link) {
  if (!link.has_sent(published_)) return false;
  left_ = closed_;
  const Time built = std::exchange(closed_since_, kNever);
  // The clock anew: the caller may have read it long before the frames left.
  if (const Time now = clock_.now(); now - built > kPrompt) nic.left_late(left_, now);
  return true;
}

Time FairTimers::look(nic::Nic& nic, Link& link) {
  if (closed_since_ == kNever || has_left(nic, link)) {
    if (oldest_built_ == kNever) return kNever;
    closed_since_ = std::exchange(oldest_built_, kNever);
    published_ = link.published();
    closed_ = nic.close_batch();
    if (has_left(nic, link)) return kNever;
  }
  const Time now = clock_.now();
  return now + std::max(kLookAgainMin, Duration{(now - closed_since_).ns / 4});
}

}  // namespace verbena::host
