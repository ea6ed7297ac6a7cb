#include "emulator/host/fabric_process/core_lease.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

namespace verbena::host {

CoreLease::CoreLease() : clock_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

/// Short sleeps beside somebody who is awake: each has cost two switches, and was ended by a frame or two.
void CoreLease::woken_after(Duration slept, bool shares_core) {
  score_ = std::clamp(score_ + (shares_core && slept < kShortSleep ? 1 : -1), 0, kScoreMax);
  switch (state_) {
    case State::off:
      if (score_ < kScoreToBegin || !set_clock(kTick)) return;
      [[fallthrough]];
    case State::ending:
      if (score_ >= kScoreToBegin) state_ = State::on;
      return;
    case State::on:
      if (score_ == 0) end();
      return;
  }
}

void CoreLease::ticked(Time now) {
  std::uint64_t ticks = 0;
  if (read(clock_.get(), &ticks, sizeof ticks) != sizeof ticks) return;
  if (state_ == State::ending && set_clock(Duration{})) state_ = State::off;
  if (state_ == State::on && now - moved_at_ > kQuiet) {
    score_ = 0;
    end();
  }
}

bool CoreLease::set_clock(Duration every) {
  const timespec interval{0, every.ns};
  const itimerspec setting{interval, interval};
  return clock_ && timerfd_settime(clock_.get(), 0, &setting, nullptr) == 0;
}

}  // namespace verbena::host
