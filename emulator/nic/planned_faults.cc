#include "emulator/nic/planned_faults.h"

#include <memory>

#include "emulator/nic/nic_private.h"

namespace verbena::nic {

void PlannedFaults::begin(Nic& nic, CompletionJudge& judge) {
  NicState& state = *nic.state_;
  if (state.planned == nullptr)
    state.planned = std::make_unique<PlannedCompletions>(judge, state.moderation_deadline);
  else
    state.planned->look_at_events();
}

}  // namespace verbena::nic
