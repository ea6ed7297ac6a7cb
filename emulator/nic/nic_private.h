// What Nic::state_ points to. For nic.cc and verbs/, which implement the class; all other parts see NicState.
// Private to emulator/nic.
// Tested by: tests/nic/transfer_test.cc
#pragma once

#include "emulator/nic/nic.h"
#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

struct Nic::State : NicState {
  using NicState::NicState;
};

}  // namespace verbena::nic
