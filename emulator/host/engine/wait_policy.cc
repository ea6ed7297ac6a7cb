#include "emulator/host/engine/wait_policy.h"

#include <algorithm>

namespace verbena::host {

/// Whether frames have woken it and these are the first that it takes.
bool WaitPolicy::note_work(const Activity& activity, Time now) {
  // An application that does something with the frames needs a core as well.
  const std::uint64_t actions = activity.polls + activity.calls;
  const bool app_is_passive = std::exchange(actions_, actions) == actions;
  const Duration most = over_kernel_ ? kSpinInStreamKernel : kSpinInStream;
  earned_ = std::max(earned_ - (now - last_worked_), Duration{}) + kSpinEarned;
  earned_ = app_is_passive ? std::min(earned_, most) : Duration{};
  last_worked_ = now;
  busy_until_ = now + kSpin;
  linger_until_ = now + earned_;
  timed_out_ = fruitless_ = false;
  return std::exchange(for_frames_, false);
}

/// The core is the application's as long as it shows that it wants it.
bool WaitPolicy::is_in_the_way(const Seen& seen) const {
  const bool app_was_active = seen.activity.polls != before_sleep_.polls || seen.activity.calls != before_sleep_.calls;
  return seen.look == Look::in_the_way || seen.is_guest || (app_was_active && seen.activity.core == seen.core);
}

WaitPolicy::Decision WaitPolicy::sleep_of(const Seen& seen, bool app_polls, Time now) {
  const bool is_active = app_polls || seen.activity.calls != before_sleep_.calls;
  // Who listens is woken by frames, and sees to it only that not every deadline of the application needs a kick. Timers
  // that end before the next tick cost more than the rest of a turn where a hypervisor has to set them.
  const bool watches = app_polls && !seen.is_guest;
  const Time longest = is_active ? now + (watches ? watch_ : kWatchMax) : kNever;
  watch_ends_ = watches && over_kernel_ ? longest : kNever;
  polls_that_serve_ = watch_ends_ == kNever
                          ? kNobody
                          : seen.activity.polls + 1 + static_cast<std::uint64_t>(watch_.ns / kServedEvery.ns);
  watch_ = is_active && seen.look != Look::worked ? std::min(watch_ * 2, kWatchMax) : watch_min();
  return {.sleeps = true, .listens = !app_polls, .longest = longest};
}

void WaitPolicy::sleeps(const Activity& activity, Time until) {
  // Something is due before the watch is over: it is looked after then.
  if (until != watch_ends_) polls_that_serve_ = kNobody;
  mark_ = before_sleep_ = activity;
}

void WaitPolicy::sleep_was_refused(Time now) {
  timed_out_ = fruitless_ = false;
  polls_that_serve_ = kNobody;
  busy_until_ = now + kSpin;
}

void WaitPolicy::woke(Wake wake, const Activity& activity, Time now) {
  timed_out_ = wake == Wake::time;
  for_frames_ = wake == Wake::frames;
  fruitless_ = true;
  if (timed_out_) return;
  mark_ = activity;
  busy_until_ = now + kSpin;
}

}  // namespace verbena::host
