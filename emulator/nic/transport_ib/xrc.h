// What XRC adds to the responder, and the numbers by which packets name objects.
// Private to emulator/nic; implemented in xrc.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// Of an XRC request: the SRQ that it names becomes the QP's for this message. False: it cannot be used.
bool take_named_srq(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The SRQ is about to go: no QP keeps it.
void forget_srq(NicState& nic, const SharedReceiveQueue& srq);
/// A 24-bit number by which packets and completions name an object of a table of up to 4,096: its slot, with the
/// generation above it.
inline constexpr std::uint32_t kNumberSlotBits = 12;
inline constexpr std::uint32_t kNumberSlotMask = (1u << kNumberSlotBits) - 1;
template <class Tag>
wire::Qpn number_of(Handle<Tag> handle) {
  return wire::Qpn(((handle.index >> 20) + 1) % kNumberSlotMask << kNumberSlotBits | (handle.index & kNumberSlotMask));
}

}  // namespace verbena::nic
