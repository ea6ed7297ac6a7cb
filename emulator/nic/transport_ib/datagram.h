// Datagrams: sending and receiving one.
// Private to emulator/nic; implemented in datagram.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

Sent send_datagram(NicState& nic, Qp& qp, Time now, TransmitPort& port);
void receive_datagram(NicState& nic, Qp& qp, const wire::PacketView& packet);

}  // namespace verbena::nic
