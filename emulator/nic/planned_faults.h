// PlannedFaults: a judge of completions (objects/completion_judge.h) for a NIC that runs already.
//
// Solely that it is asked from here on; what comes of its verdicts is state/planned_completions.h's.
// Tested by: tests/nic/planned_completions_test.cc
#pragma once

#include "emulator/nic/nic.h"
#include "emulator/nic/objects/completion_judge.h"

namespace verbena::nic {

class PlannedFaults {
 public:
  /// One that has a judge keeps it, and looks for its events anew. The judge outlives the NIC.
  static void begin(Nic& nic, CompletionJudge& judge);
};

}  // namespace verbena::nic
