// StepClock: the time of a fabric, which is the machine's as long as the process keeps up with it.
//
// Solely responsible for one thing: between two looks at what else there is, commands, managers, the end, so much time
// passes in the network at most. Packets that go round in a managed subnet make more work than a core can do: all that
// is due by now would take longer than it lasts, and what falls due meanwhile longer again. The network is slower than
// it says then, and everybody is still heard. Nothing is left out: time that was behind catches up when it can.
// Tested by: tests/host/fabric_process/step_clock_test.cc, tests/programs/managed.py
#pragma once

#include <algorithm>

#include "wire/time.h"

namespace verbena::host {

class StepClock {
 public:
  static constexpr Duration kStepMax = milliseconds(1);

  /// The time of the next pass. `due`: the earliest thing that the network has to do; kNever: nothing.
  Time advance(Time machine, Time due) {
    const Time from = std::max(now_, std::min(due, machine));
    now_ = std::max(now_, std::min(machine, from + kStepMax));
    return now_;
  }

 private:
  Time now_{};
};

}  // namespace verbena::host
