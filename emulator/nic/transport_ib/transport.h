// The InfiniBand transport as a whole: what a NIC asks of it.
//
// Post, receive, transmit, deadline: these four are the way of a work request and of a packet. They stand on objects/,
// memory/ and state/. Another transport of the same NIC has the same four. Not yet behind them: nic.cc, verbs/ and
// ethernet/ include more of this folder (groups, pacing, modify_qp, xrc, CNPs, invariants).
// Private to emulator/nic; implemented in transport.cc.
// Tested by: tests/nic/transfer_test.cc, tests/nic/congestion_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"

namespace verbena::nic::transport_ib {

/// The work request at the tail of the send queue gets its place in the QP's stream of packets.
void post(Qp& qp, SendWork& work);
/// A packet for the QP, which may take it: not a CNP, and checked (nic.cc).
void receive(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now);
/// Builds the QP's next packet, of what its requester and its responder have to send.
Sent transmit(NicState& nic, Qp& qp, Time now, TransmitPort& port);
/// Timers of the QP may be due.
void deadline(NicState& nic, Qp& qp, Time now, const Awaited& awaited);

}  // namespace verbena::nic::transport_ib
