// The responder's entry: requests as they arrive.
// Private to emulator/nic; implemented in responder.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

void receive_request(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The same, by way of the QP's policy of loss recovery.
inline void take_request(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  if (qp.recovery == nullptr) [[likely]]
    return receive_request(nic, qp, packet);
  qp.recovery->take_request(nic, qp, packet);
}

}  // namespace verbena::nic
