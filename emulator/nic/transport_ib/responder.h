// The responder's entry: requests as they arrive.
// Private to emulator/nic; implemented in responder.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

void receive_request(NicState& nic, Qp& qp, const wire::PacketView& packet);

}  // namespace verbena::nic
