// StandStill: whether something that others are to move has not moved for some time, as far as looks have seen it.
//
// Solely that decision. Who looks may itself not have been run for a while, or have had no reason to look: whoever it
// looks at may have had no turn either, and nothing is known of that time. So time counts only between looks that are
// close to each other; a longer gap counts as one between close looks does. Pure: what was seen and the time are
// arguments, so that every order of events is a test.
// Tested by: tests/host/link/shm/stand_still_test.cc
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class StandStill {
 public:
  /// Looks are close that are this part of the patience apart, or closer: nothing is given up after fewer looks.
  static constexpr std::int64_t kCloseLooks = 4;

  /// `progress` is another one whenever it has moved. Returns whether it has stood still for `patience` in all, this
  /// look included. Once it has, it goes on to until it moves.
  /// `now` may be earlier than at the look before: callers read the clock before they come here.
  bool look(std::uint64_t progress, Time now, Duration patience) {
    if (looked_at_ == kNever || progress != progress_) {
      progress_ = progress;
      stood_ = Duration{};
      looked_at_ = now;
    } else if (now > looked_at_) {
      stood_ = stood_ + std::min(now - looked_at_, Duration{patience.ns / kCloseLooks});
      looked_at_ = now;
    }
    return stood_ >= patience;
  }
  /// It has nothing to move for.
  void forget() { looked_at_ = kNever; }

 private:
  std::uint64_t progress_ = 0;
  Time looked_at_ = kNever;  // kNever: no look counts yet
  Duration stood_{};
};

}  // namespace verbena::host
