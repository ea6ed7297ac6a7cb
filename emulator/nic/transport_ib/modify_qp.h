// The state machine of a QP.
// Private to emulator/nic; implemented in modify_qp.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

VerbsResult<void> modify_qp(NicState& nic, Qp& qp, const QpAttributes& attributes, std::uint32_t mask, Time now);

}  // namespace verbena::nic
