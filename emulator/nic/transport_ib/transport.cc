#include "emulator/nic/transport_ib/transport.h"

#include "emulator/nic/transport_ib/datagram.h"
#include "emulator/nic/transport_ib/notification_point.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/requester.h"
#include "emulator/nic/transport_ib/responder.h"
#include "emulator/nic/transport_ib/response.h"

namespace verbena::nic::transport_ib {
namespace {

[[gnu::noinline]] void receive_controlled_answer(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  const wire::Psn una = qp.requester.una_psn;
  take_response(nic, qp, packet, now);
  note_answer(nic, qp, packet, una, now);
}

void receive_answer(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  if (qp.pace.control == nullptr)
    take_response(nic, qp, packet, now);
  else
    receive_controlled_answer(nic, qp, packet, now);
}

/// The packet is marked. True: and with that it is dealt with.
[[gnu::cold]] bool take_mark(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  notice_congestion(nic, qp, packet);
  if (qp.responder.echo == nullptr || !packet.opcode().is_request || !qp.service->responds) return false;
  receive_marked_request(nic, qp, packet);
  return true;
}

Sent send_work(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  return qp.service->sends_datagrams ? send_datagram(nic, qp, now, port) : send_request(nic, qp, now, port);
}

[[gnu::noinline]] Sent send_paced(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  if (!pace_allows(nic, qp, now)) return Sent::nothing;
  const std::uint64_t bytes_before = qp.counters->get(Counter::tx_bytes);
  if (qp.recovery != nullptr) qp.recovery->seek(nic, qp, now);
  const Departure departure = next_departure(qp);
  const Sent sent = send_work(nic, qp, now, port);
  const std::uint64_t bytes = qp.counters->get(Counter::tx_bytes) - bytes_before;
  if (sent == Sent::packet && qp.pace.control != nullptr) note_departure(qp, departure, now, bytes);
  charge_pace(qp, now, bytes);
  return sent;
}

/// Congestion control and a static rate hold back the data of reads as they do that of requests; acknowledgements go.
[[gnu::noinline]] Sent send_response_paced(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  if (qp.pace.bits_per_second == 0 || !qp.responder.owes_jobs()) return send_response(nic, qp, port);
  if (!pace_allows(nic, qp, now)) return Sent::nothing;
  const std::uint64_t bytes_before = qp.counters->get(Counter::tx_bytes);
  const Sent sent = send_response(nic, qp, port);
  charge_pace(qp, now, qp.counters->get(Counter::tx_bytes) - bytes_before);
  return sent;
}

}  // namespace

void post(Qp& qp, SendWork& work) {
  Requester& requester = qp.requester;
  const bool is_message = !work.is_local();
  work.packets = is_message ? qp.packets_of(work.length) : 0;
  work.first_psn = requester.post_psn;
  work.ssn = requester.post_ssn & wire::Psn::kMask;
  requester.post_ssn += is_message;
  if (qp.recovery != nullptr) [[unlikely]]
    qp.recovery->posted(work);
  requester.post_psn = requester.post_psn + work.packets;
}

void receive(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  if (packet.network().is_congestion_marked())
    if (take_mark(nic, qp, packet)) return;
  if (qp.telemetry != 0) [[unlikely]]
    note_telemetry(qp, packet);
  if (!qp.service->is_connected)
    receive_datagram(nic, qp, packet);
  else if (packet.opcode().is_request && qp.service->responds)
    take_request(nic, qp, packet);
  else if (!packet.opcode().is_request && qp.service->takes_responses)
    receive_answer(nic, qp, packet, now);
  else
    nic.arrival_counters->add(Counter::rx_dropped_wrong_transport);
}

Sent transmit(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  if (qp.responder.owes_response() && !nic.hold(qp)) {
    const Sent response = qp.pace.holds_responses ? send_response_paced(nic, qp, now, port)  //
                                                  : send_response(nic, qp, port);
    if (response != Sent::nothing) return response;
  }
  return qp.pace.bits_per_second == 0 ? send_work(nic, qp, now, port) : send_paced(nic, qp, now, port);
}

void deadline(NicState& nic, Qp& qp, Time now, const Awaited& awaited) {
  run_requester_timers(nic, qp, now, awaited);
  resume_held_back(nic, qp, now);
}

}  // namespace verbena::nic::transport_ib
