// The notification point of RoCE v2 congestion management.
// Private to emulator/nic; implemented in notification_point.cc.
// Tested by: tests/nic/congestion_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// The packet carries the mark of congestion (ECN CE).
[[gnu::cold]] void notice_congestion(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The packet has shown a gap, and is answered with a NAK.
[[gnu::cold]] void notice_gap(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// A marked request, of a QP whose acknowledgements tell of marks.
[[gnu::cold]] void receive_marked_request(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The packet is for a QP that takes telemetry: what it says of that.
[[gnu::cold]] void note_telemetry(Qp& qp, const wire::PacketView& packet);
/// How many of the CNPs that are due went out.
[[gnu::cold]] std::size_t send_notices(NicState& nic, TransmitPort& port, std::size_t budget);

}  // namespace verbena::nic
