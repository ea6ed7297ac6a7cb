// The requester's entries: what sends requests of RC and UC QPs.
// Private to emulator/nic; implemented in requester.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// Whether the window, credits, fences and the QP's state let the work request's next packet go.
bool may_send(const Qp& qp, const SendWork& work);
/// One request packet of an RC or UC QP.
Sent send_request(NicState& nic, Qp& qp, Time now, TransmitPort& port);
/// Continues at `psn`: after a NAK, a timeout, or an acknowledgement of something that was about to be sent again.
void go_back(Qp& qp, wire::Psn psn);

}  // namespace verbena::nic
