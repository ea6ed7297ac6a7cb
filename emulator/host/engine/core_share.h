// CoreShare: whether a thread that polls without end gets all of its core, or others need it as well.
//
// A thread that never sleeps has as much processor time as has gone by, unless somebody else ran on its core. Solely
// that comparison; pure, both clocks' values are arguments.
// Tested by: tests/host/engine/poll_yield_test.cc
#pragma once

#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class CoreShare {
 public:
  struct Sample {
    Time at;
    Duration cpu;  // that the thread has used since it began
    std::uint64_t thread = 0;
  };

  /// What others must have had of it. A process between the ends (Relay) that finds no other core takes one from a
  /// thread that polls, which has it back soon.
  enum class Others : std::uint8_t { time_slice, several_time_slices };

  /// Now and then, while it polls. True: for some time its core counts as shared. Of threads that poll by turns nothing
  /// is learned.
  bool look(const Sample& now, Others others) {
    if (now.thread != began_.thread) restart();
    if (has_begun_ && now.at - began_.at >= kSpanMin) {
      const std::int64_t own_part = others == Others::time_slice ? kOwnPart : kOwnPartOfSeveral;
      const Duration span = now.at - began_.at;
      if ((now.cpu - began_.cpu) * own_part < span) shared_until_ = now.at + kBelievedFor;
      has_begun_ = false;
    }
    if (!has_begun_) began_ = now;
    has_begun_ = true;
    return now.at < shared_until_;
  }
  /// It has slept.
  void restart() { has_begun_ = false; }

  static constexpr Duration kSpanMin = milliseconds(1);
  // Less than one nth of a span in which others have run for a time slice of some milliseconds, or for several.
  static constexpr std::int64_t kOwnPart = 3;
  static constexpr std::int64_t kOwnPartOfSeveral = 8;
  static constexpr Duration kBelievedFor = milliseconds(100);  // then it spins until it has lost a time slice again

 private:
  Sample began_{};
  bool has_begun_ = false;
  Time shared_until_{};
};

}  // namespace verbena::host
