// The receive work request that a message in progress fills.
// Private to emulator/nic; implemented in response.cc.
// Tested by: tests/nic/responder_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// Takes a receive work request for the message in progress, from the QP's queue or its SRQ. False: none is there.
bool take_receive(NicState& nic, Qp& qp);
/// Copies payload into the held receive work request at receive_offset. False: a local protection error.
bool scatter_receive(NicState& nic, Qp& qp, std::span<const std::byte> payload);
/// Copies payload into the scatter list of a receive, `offset` octets from its beginning; its queue's domain is `pd`.
/// False: a local protection error.
bool scatter(NicState& nic, Qp& qp, PdHandle pd, std::span<const Sge> sges, std::uint32_t offset,
             std::span<const std::byte> payload);
/// Classes D and E of 9.9.3: the message is dropped that the held receive work request is too short for. The receive
/// waits for the next message; one that was taken from a shared queue completes in error. The QP lives on.
void drop_long_message(NicState& nic, Qp& qp, bool solicited);
/// Room left in the held receive work request, in octets.
std::uint64_t receive_room(const Qp& qp);

}  // namespace verbena::nic
