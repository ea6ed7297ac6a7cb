// CoreShare: whether a thread that polls without end gets all of its core, or others need it as well.
//
// A thread that never sleeps has as much processor time as has gone by, unless somebody else ran on its core. Solely
// that comparison; pure, both clocks' values are arguments.
// Tested by: tests/host/engine/poll_yield_test.cc
#pragma once

#include "wire/time.h"

namespace verbena::host {

class CoreShare {
 public:
  struct Sample {
    Time at;
    Duration cpu;  // that the thread has used since it began
  };

  /// Now and then, while it polls. True: for some time its core counts as shared.
  bool look(const Sample& now) {
    if (has_begun_ && now.at - began_.at >= kSpanMin) {
      const Duration span = now.at - began_.at;
      if ((span - (now.cpu - began_.cpu)) * kPartOfOthers > span) shared_until_ = now.at + kBelievedFor;
      has_begun_ = false;
    }
    if (!has_begun_) began_ = now;
    has_begun_ = true;
    return now.at < shared_until_;
  }
  /// It has slept.
  void restart() { has_begun_ = false; }

  static constexpr Duration kSpanMin = milliseconds(1);        // and as long as it was kept from its core
  static constexpr std::int64_t kPartOfOthers = 2;             // one nth of that: a time slice, but no interrupts
  static constexpr Duration kBelievedFor = milliseconds(100);  // then it spins until it has lost a time slice again

 private:
  Sample began_{};
  bool has_begun_ = false;
  Time shared_until_{};
};

}  // namespace verbena::host
