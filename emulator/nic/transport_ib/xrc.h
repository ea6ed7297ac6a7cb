// What XRC adds to the responder.
// Private to emulator/nic; implemented in xrc.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// Of an XRC request: the SRQ that it names becomes the QP's for this message. False: it cannot be used.
bool take_named_srq(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The SRQ is about to go: no QP keeps it.
void forget_srq(NicState& nic, const SharedReceiveQueue& srq);

}  // namespace verbena::nic
