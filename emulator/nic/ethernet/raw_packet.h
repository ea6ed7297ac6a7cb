// Raw packets: sending, and what no connection takes.
// Private to emulator/nic; implemented in raw_packet.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

Sent send_raw(NicState& nic, Qp& qp, TransmitPort& port);
/// A frame that no connection takes. False: no rule does, either.
bool receive_ethernet(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);
/// Copies of a frame for the rules that see all.
[[gnu::cold]] void sniff(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);
/// Of one that has been received, with its ICRC in any case.
[[gnu::cold, gnu::noinline]] void sniff_received(NicState& nic, std::span<const std::byte> frame, wire::IcrcState icrc);

}  // namespace verbena::nic
