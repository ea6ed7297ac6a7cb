// Contest: a packet is ahead of its stream. What follows shows whether the stream has leapt to it, or goes on as if the
// packet had not been there: then it is from before the stream went back, and was overtaken.
//
// Solely the count of what speaks for either.
// Tested by: tests/captures/findings/rounds_test.cc
#pragma once

#include <cstdint>

#include "captures/findings/timeline.h"

namespace verbena::captures {

class Contest {
 public:
  Contest(wire::Psn next, const Moment& moment) : next_(next), psn_(moment.psn), behind_(moment.psn + moment.span) {}

  wire::Psn next() const { return next_; }
  bool has_gone_on() const { return steps_ != 0; }
  bool is_over() const { return comes_again_ || steps_ == kSteps || steps_behind_ == kSteps; }
  bool is_aside() const { return comes_again_ || steps_ > steps_behind_; }

  void follow(wire::Psn psn, std::uint32_t span) {
    const std::int32_t off = wire::distance(next_, psn);
    const std::int32_t off_behind = wire::distance(behind_, psn);
    if (psn == psn_) {
      comes_again_ = steps_ != 0;
    } else if (off >= 0 && off <= kLostAtOnceMax + steps_ && wire::distance(psn, psn_) > 0) {
      next_ = psn + span;
      ++steps_;
    } else if (off_behind >= 0 && off_behind <= kLostAtOnceMax + steps_behind_) {
      behind_ = psn + span;
      ++steps_behind_;
    }
  }

 private:
  static constexpr std::int32_t kLostAtOnceMax = 2;
  static constexpr std::int32_t kSteps = 3;  // so many in order are no copies by chance

  wire::Psn next_;
  wire::Psn psn_;
  wire::Psn behind_;
  std::int32_t steps_ = 0;
  std::int32_t steps_behind_ = 0;
  bool comes_again_ = false;
};

}  // namespace verbena::captures
