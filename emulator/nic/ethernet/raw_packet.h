// Raw packets: sending, and what no connection takes.
// Private to emulator/nic; implemented in raw_packet.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// The next frame of a raw packet QP, if its rate lets it go.
Sent transmit_raw(NicState& nic, Qp& qp, Time now, TransmitPort& port);
/// A frame that no connection takes. False: no rule does, either.
bool receive_ethernet(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);
/// Frames of this NIC's own that it also receives.
[[gnu::cold]] void deliver_looped(NicState& nic);
/// Copies of a frame for the rules that see all.
[[gnu::cold]] void sniff(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);
/// Of one that has been received, with its ICRC in any case.
[[gnu::cold, gnu::noinline]] void sniff_received(NicState& nic, std::span<const std::byte> frame, wire::IcrcState icrc);

}  // namespace verbena::nic
