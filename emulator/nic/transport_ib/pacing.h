// What waits for the clock besides the transport's timers.
// Private to emulator/nic; implemented in pacing.cc.
// Tested by: tests/nic/congestion_test.cc, tests/nic/timely_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// The program's limit.
void set_pace(Qp& qp, const RateLimit& limit);
/// The static rate of the QP's path (IBA volume 1, 9.11.1); 0: none.
void set_static_rate(NicState& nic, Qp& qp, std::uint64_t bits_per_second);
/// A datagram has left by an address handle with a static rate.
void charge_static_rate(Qp& qp, Time now, std::uint64_t bytes, std::uint64_t bits_per_second);
/// The NIC's congestion control begins with the connection.
void start_congestion_control(const NicState& nic, Qp& qp);
/// A CNP came for the QP: the reaction point.
[[gnu::cold]] void slow_down(Qp& qp, Time now);
/// Sending begins: the requester's window is as large as it ever will be.
void start_window(Qp& qp);
/// The QP's next request, before it leaves.
struct Departure {
  wire::Psn psn;
  /// Its acknowledgement, if it asks for one, says how long a round trip takes: not that of what goes out again, whose
  /// answer may be the first one's, nor what is answered by data.
  bool is_measurable = false;
};
Departure next_departure(const Qp& qp);
/// It has left, of a QP under congestion control that is paced.
void note_departure(Qp& qp, const Departure& departure, Time now, std::uint64_t bytes);
/// A response has come, for a QP under congestion control; `una_before`: the oldest PSN not acknowledged before it.
void note_answer(NicState& nic, Qp& qp, const wire::PacketView& packet, wire::Psn una_before, Time now);
/// The QP sends again from what was lost on.
[[gnu::cold]] void note_loss(Qp& qp, Loss loss, Time now);
/// Whether the next packet may leave; if not, the QP's timer is set.
bool pace_allows(NicState& nic, Qp& qp, Time now);
void charge_pace(Qp& qp, Time now, std::uint64_t bytes);
/// The QP's timer came: what its rate limit or missing pages held back may go on, or waits on.
void resume_held_back(NicState& nic, Qp& qp, Time now);
/// After an access of the QP's own was refused: whether it only has to wait until its pages are there.
[[gnu::cold]] bool waits_for_pages(NicState& nic, Qp& qp);

}  // namespace verbena::nic
