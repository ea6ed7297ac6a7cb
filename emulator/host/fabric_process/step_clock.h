// StepClock: the time of a fabric, which is the machine's as long as the process keeps up with it.
//
// Solely responsible for one thing: in a network that makes more work than a core can do, so much time passes at most
// between two looks at what else there is: commands, managers, the end. Packets that go round in a managed subnet are
// such: what is due by now takes longer than it lasts, and what falls due meanwhile longer again. Who has only been
// late is not behind: all that is due is done at once, and frames that come then have the machine's time, so that a
// delay is never shorter than it should be. Nothing is left out: time that was behind catches up when it can.
// Tested by: tests/host/fabric_process/step_clock_test.cc, tests/programs/managed.py
#pragma once

#include <algorithm>

#include "wire/time.h"

namespace verbena::host {

class StepClock {
 public:
  static constexpr Duration kLateMax = milliseconds(200);  // more than a busy machine's scheduler makes of it
  static constexpr Duration kStep = milliseconds(1);       // of who is behind

  /// The time of the next pass. `due`: the earliest thing that the network has to do; kNever: nothing.
  Time advance(Time machine, Time due) {
    const Time from = std::max(now_, std::min(due, machine));
    is_behind_ = machine - from > (is_behind_ ? kStep : kLateMax);
    now_ = is_behind_ ? from + kStep : std::max(now_, machine);
    return now_;
  }

 private:
  Time now_{};
  bool is_behind_ = false;
};

}  // namespace verbena::host
