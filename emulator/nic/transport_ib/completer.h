// The completer's entries: what comes back for the requests of an RC QP, and its timers.
// Private to emulator/nic; implemented in completer.cc.
// Tested by: tests/nic/requester_test.cc, tests/nic/loss_test.cc
#pragma once

#include "emulator/nic/objects/answer_watch.h"
#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

void receive_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now);
/// The same, by way of the QP's policy of loss recovery.
inline void take_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  if (qp.recovery == nullptr) [[likely]]
    return receive_response(nic, qp, packet, now);
  qp.recovery->take_response(nic, qp, packet, now);
}
/// As Nic::on_deadline: which requests have left, and who has answered.
struct Awaited {
  std::uint64_t left;
  AnswerWatch* answers;
};
/// The ACK timer or the RNR timer of the QP may be due.
void run_requester_timers(NicState& nic, Qp& qp, Time now, const Awaited& awaited);
/// How long the ACK timer runs if it is started now. 0: it does not.
inline Duration ack_timeout(const Qp& qp) {
  return qp.recovery == nullptr ? qp.requester.ack_timeout : qp.recovery->ack_timeout(qp);
}
/// The ACK timer begins now, if anything is outstanding that it is for.
void restart_ack_timer(NicState& nic, Qp& qp, Time now);
/// As Nic::left_late.
void start_ack_timer_late(Qp& qp, std::uint64_t batch, Time now);
/// Completes what is done at the head of the send queue, and fails the head if it failed here.
void retire(NicState& nic, Qp& qp);

}  // namespace verbena::nic
