// Datagrams to multicast groups.
// Private to emulator/nic; implemented in groups.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// A datagram to a group, from the wire or looped (`sender` is then the QP that sent it): for members at the port by
/// which it arrives.
void receive_group(NicState& nic, const wire::PacketView& packet, wire::Qpn sender);
/// Whether a datagram to that address has to come back.
bool loops_back(const NicState& nic, const wire::Gid& destination);

}  // namespace verbena::nic
