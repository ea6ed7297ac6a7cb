// The completer's entries: what comes back for the requests of an RC QP, and its timers.
// Private to emulator/nic; implemented in completer.cc.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

void receive_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now);
/// As Nic::on_deadline: which requests have left, and who has answered.
struct Awaited {
  std::uint64_t left;
  AnswerWatch* answers;
};
/// The ACK timer or the RNR timer of the QP may be due.
void run_requester_timers(NicState& nic, Qp& qp, Time now, const Awaited& awaited);
/// The ACK timer begins now, if anything is outstanding that it is for.
void restart_ack_timer(NicState& nic, Qp& qp, Time now);
/// As Nic::left_late.
void start_ack_timer_late(Qp& qp, std::uint64_t batch, Time now);
/// Completes what is done at the head of the send queue, and fails the head if it failed here.
void retire(NicState& nic, Qp& qp);

}  // namespace verbena::nic
