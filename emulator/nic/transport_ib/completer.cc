// The completer: what acknowledgements, NAKs, read data and timers mean for the work requests of an RC QP.
// IBTA vol 1, 9.7.5 (acknowledging), 9.7.6 (timers and retries), 9.9.2 (requester's errors).
#include "emulator/nic/transport_ib/completer.h"

#include <algorithm>
#include <utility>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/payload.h"
#include "emulator/nic/transport_ib/requester.h"
#include "wire/aeth.h"
#include "wire/assert.h"

namespace verbena::nic {

namespace {

/// As a call: in line it costs the acknowledgement after which nothing is outstanding 15 instructions.
[[gnu::noinline]] void start_ack_timer(NicState& nic, Qp& qp, Time when) {
  nic.start_timer(qp, Timer::ack, when);
}

}  // namespace

void restart_ack_timer(NicState& nic, Qp& qp, Time now) {
  Requester& requester = qp.requester;
  // What is to be sent again does not count before it leaves: the port may have no room for a while.
  const bool outstanding = requester.una_psn != requester.next_psn;
  requester.timed_batch = requester.last_batch;
  const Duration timeout = ack_timeout(qp);
  if (outstanding && timeout.ns != 0 && !qp.timers.runs(Timer::rnr))
    start_ack_timer(nic, qp, now + timeout);
  else
    qp.timers.stop(Timer::ack);
}

namespace {

using wire::distance;
using wire::Psn;

template <bool has_policy>
[[gnu::always_inline]] inline void note_progress(NicState& nic, Qp& qp, Psn una, Time now) {
  Requester& requester = qp.requester;
  if (requester.una_psn == una) return;
  const Psn before = std::exchange(requester.una_psn, una);
  if constexpr (has_policy) qp.recovery->acknowledged(qp, before, now);
  if (distance(requester.next_psn, una) > 0) go_back(qp, una);  // acknowledged while it was about to be sent again
  requester.retries_left = qp.attributes.retry_count;
  requester.rnr_retries_left = qp.attributes.rnr_retry;
  requester.read_retry_pending = false;
  restart_ack_timer(nic, qp, now);
}

/// Everything before `acknowledged` has been executed by the responder. False: a read or atomic among it has not been
/// answered, so a response was lost (9.7.5.1.3, implied NAK).
template <bool has_policy>
[[gnu::always_inline]] inline bool acknowledge(NicState& nic, Qp& qp, Psn said, Time now) {
  SendQueue& queue = qp.send_queue;
  Psn acknowledged = said;
  if constexpr (has_policy) acknowledged = qp.recovery->executed(said);  // what waited for responses is done with them
  Psn una = acknowledged;
  bool answered = true;
  for (std::uint32_t position = queue.head; position != queue.tail; ++position) {
    const SendWork& work = queue.at(position);
    if (distance(work.first_psn, acknowledged) <= 0) break;
    if (work.awaits_data() && work.received_packets < work.packets) {
      const Psn missing = work.first_psn + work.received_packets;
      if (distance(missing, acknowledged) > 0) {
        una = missing;
        answered = distance(missing, said) <= 0;
      }
      break;
    }
  }
  if (distance(qp.requester.una_psn, una) > 0) {
    note_progress<has_policy>(nic, qp, una, now);
    retire(nic, qp);
  }
  return answered;
}
[[gnu::noinline]] bool acknowledge_with_policy(NicState& nic, Qp& qp, Psn acknowledged, Time now) {
  return acknowledge<true>(nic, qp, acknowledged, now);
}
[[gnu::always_inline]] inline bool acknowledge_before(NicState& nic, Qp& qp, Psn acknowledged, Time now) {
  if (qp.recovery != nullptr) [[unlikely]]
    return acknowledge_with_policy(nic, qp, acknowledged, now);
  return acknowledge<false>(nic, qp, acknowledged, now);
}

void exhaust(NicState& nic, Qp& qp, CompletionStatus status, Counter counter) {
  qp.counters->add(counter);
  nic.fail_send_head(qp, status);
}

/// Nothing more leaves before `until`; then all from `psn` on.
void send_again_later(NicState& nic, Qp& qp, Psn psn, Time until) {
  go_back(qp, psn);
  nic.start_timer(qp, Timer::rnr, until);
  qp.timers.stop(Timer::ack);
}

void send_again_from(NicState& nic, Qp& qp, Psn psn, Duration latency, Time now) {
  if (latency.ns != 0) return send_again_later(nic, qp, psn, now + latency);
  go_back(qp, psn);
  restart_ack_timer(nic, qp, now);
  nic.ready.push_back(qp);
}

/// Sends again from `psn` on; the retry count guards against doing so for ever without progress.
void retry_from(NicState& nic, Qp& qp, Psn psn, Loss loss, Duration latency, Time now) {
  Requester& requester = qp.requester;
  if (requester.retries_left == 0) {
    exhaust(nic, qp, CompletionStatus::retry_exceeded, Counter::retry_exceeded_err);
    return;
  }
  --requester.retries_left;
  note_loss(qp, loss, now);
  send_again_from(nic, qp, psn, latency, now);
}

void response_missing(NicState& nic, Qp& qp, Time now) {
  if (qp.requester.read_retry_pending || qp.state == QpState::error) return;
  qp.counters->add(Counter::implied_nak_seq_err);
  const Duration latency = nic.config.implied_nak_latency;
  if (qp.recovery != nullptr) qp.recovery->lose_responses(qp);
  if (qp.recovery != nullptr && !qp.recovery->counts_shown_losses()) {
    note_loss(qp, Loss::sequence_error, now);
    send_again_from(nic, qp, qp.requester.una_psn, latency, now);
  } else {
    retry_from(nic, qp, qp.requester.una_psn, Loss::sequence_error, latency, now);
  }
  qp.requester.read_retry_pending = true;
}

/// A posted receive is never taken back, so the limit never falls: what says less is older (a response that waited), or
/// does not know of the messages without a receive that are on their way.
void learn_credits(Qp& qp, const wire::Aeth& aeth) {
  const auto syndrome = wire::Syndrome::decode(aeth.syndrome);
  if (syndrome.kind != wire::Syndrome::Kind::ack) return;
  Requester& requester = qp.requester;
  const bool was_known = requester.credits_known;
  requester.credits_known = syndrome.value != wire::kUnlimitedCredits;
  if (!requester.credits_known) return;
  const std::uint32_t limit = aeth.msn + wire::credit_count_of(syndrome.value);
  if (!was_known || distance(Psn(requester.limit_ssn), Psn(limit)) > 0) requester.limit_ssn = limit;
}

/// The same, of packets that have arrived and were refused.
void hold_back(NicState& nic, Qp& qp, Psn psn, Time until) {
  VERBENA_ASSERT(qp.service->takes_responses && qp.state != QpState::error);
  if (qp.recovery != nullptr) qp.recovery->lose_from(qp, psn);
  send_again_later(nic, qp, psn, until);
}

/// The response before the request that was refused is missing. Both are sent again, and no sooner than the RNR NAK
/// says; an RNR retry counts once that response has come and the request is refused again.
void receive_rnr_nak_behind_gap(NicState& nic, Qp& qp, std::uint8_t timer_code, Time now) {
  qp.counters->add(Counter::rnr_nak_received);
  if (qp.timers.runs(Timer::rnr)) return;
  qp.requester.read_retry_pending = false;
  response_missing(nic, qp, now);
  if (qp.state != QpState::error) hold_back(nic, qp, qp.requester.una_psn, now + wire::rnr_timer(timer_code));
}

void receive_rnr_nak(NicState& nic, Qp& qp, std::uint8_t timer_code, Psn psn, Time now) {
  qp.counters->add(Counter::rnr_nak_received);
  Requester& requester = qp.requester;
  constexpr std::uint8_t kForEver = 7;
  if (qp.attributes.rnr_retry != kForEver) {
    if (requester.rnr_retries_left == 0) {
      exhaust(nic, qp, CompletionStatus::rnr_retry_exceeded, Counter::rnr_retry_exceeded_err);
      return;
    }
    --requester.rnr_retries_left;
  }
  hold_back(nic, qp, psn, now + wire::rnr_timer(timer_code));
}

void receive_nak(NicState& nic, Qp& qp, wire::NakCode code, const wire::PacketView& packet, Time now) {
  switch (code) {
    case wire::NakCode::psn_sequence_error:
      qp.counters->add(Counter::packet_seq_err);
      if (qp.recovery != nullptr) {
        if (qp.recovery->repairs(packet)) return;
        qp.recovery->lose_from(qp, packet.bth().psn);
      }
      retry_from(nic, qp, packet.bth().psn, Loss::sequence_error, nic.config.nak_reaction_latency, now);
      return;
    case wire::NakCode::invalid_request:
    case wire::NakCode::invalid_rd_request:
      qp.counters->add(Counter::nak_received_invalid_request);
      nic.fail_send_head(qp, CompletionStatus::remote_invalid_request);
      return;
    case wire::NakCode::remote_access_error:
      qp.counters->add(Counter::nak_received_access);
      nic.fail_send_head(qp, CompletionStatus::remote_access_error);
      return;
    case wire::NakCode::remote_operational_error:
      qp.counters->add(Counter::nak_received_operation);
      nic.fail_send_head(qp, CompletionStatus::remote_operation_error);
      return;
  }
  // A reserved code: a response that makes no sense (9.9.2.4.2).
  nic.fail_send_head(qp, CompletionStatus::bad_response);
}

void receive_acknowledge(NicState& nic, Qp& qp, const wire::PacketView& packet, Psn psn, Time now) {
  qp.counters->add(Counter::rx_acknowledges);
  const wire::Aeth aeth = packet.aeth();
  const auto syndrome = wire::Syndrome::decode(aeth.syndrome);
  const bool positive = syndrome.kind == wire::Syndrome::Kind::ack;
  const bool answered = acknowledge_before(nic, qp, positive ? psn + 1 : psn, now);
  if (qp.state == QpState::error) return;
  if (!answered) {
    if (syndrome.kind == wire::Syndrome::Kind::rnr_nak)
      receive_rnr_nak_behind_gap(nic, qp, syndrome.value, now);
    else
      response_missing(nic, qp, now);
    return;
  }
  switch (syndrome.kind) {
    case wire::Syndrome::Kind::ack:
      break;
    case wire::Syndrome::Kind::rnr_nak:
      receive_rnr_nak(nic, qp, syndrome.value, psn, now);
      break;
    case wire::Syndrome::Kind::nak:
      receive_nak(nic, qp, syndrome.nak_code(), packet, now);
      break;
    case wire::Syndrome::Kind::reserved:
      break;
  }
}

/// Copies into the work request's SGEs. False: a local protection error.
bool scatter_response(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset,
                      std::span<const std::byte> payload) {
  for (const Sge& sge : qp.send_queue.sges(position).first(qp.send_queue.at(position).sge_count)) {
    if (payload.empty()) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::size_t part = std::min<std::size_t>(payload.size(), sge.length - offset);
    if (!write_local(nic, qp, qp.pd, sge.lkey, sge.address + offset, payload.first(part))) return false;
    payload = payload.subspan(part);
    offset = 0;
  }
  return true;
}

/// The response could not be stored. If pages are still to come, it is dropped, and asked for again when they are
/// there, as ConnectX does; that is no retry.
void refuse_response(NicState& nic, Qp& qp, Psn psn) {
  const Time due = nic.regions.take_pages_due();
  if (due == kNever) return nic.fail_send_head(qp, CompletionStatus::local_protection_error);
  hold_back(nic, qp, psn, due);
  qp.requester.read_retry_pending = true;  // the responses behind it are no news
}

/// Whether the response fits the read packet that it answers: all but the last are full (9.7.5.1.2).
bool response_fits(const Qp& qp, const SendWork& work, const wire::PacketView& packet) {
  const wire::Operation operation = packet.opcode().operation;
  if (work.is_atomic()) return operation == wire::Operation::atomic_acknowledge;
  if (operation != wire::Operation::read_response) return false;
  if (work.opcode == SendOpcode::atomic_write) return packet.payload().empty() && packet.opcode().ends_message();
  const std::uint32_t offset = work.received_packets * qp.mtu;
  const bool last = work.received_packets + 1 == work.packets;
  return packet.payload().size() == std::min(qp.mtu, work.length - offset) && packet.opcode().ends_message() == last;
}

void receive_data(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  const Psn psn = packet.bth().psn;
  if (!acknowledge_before(nic, qp, psn, now)) {
    response_missing(nic, qp, now);
    if (qp.recovery != nullptr) (void)qp.recovery->executed(psn + 1);  // and does not come again by itself
    return;
  }
  if (qp.state == QpState::error) return;
  SendQueue& queue = qp.send_queue;
  SendWork& work = queue.at(queue.head);
  if (queue.head == queue.tail || !work.awaits_data() || work.first_psn + work.received_packets != psn) return;
  if (!response_fits(qp, work, packet)) {
    nic.fail_send_head(qp, CompletionStatus::bad_response);
    return;
  }
  if (work.is_atomic()) {
    const std::uint64_t original = packet.atomic_ack_eth().original;
    if (!scatter_response(nic, qp, queue.head, 0, std::as_bytes(std::span(&original, 1))))
      return refuse_response(nic, qp, psn);
  } else if (!scatter_response(nic, qp, queue.head, work.received_packets * qp.mtu, packet.payload())) {
    return refuse_response(nic, qp, psn);
  }
  ++work.received_packets;
  if (qp.recovery != nullptr) [[unlikely]] {
    // What is behind it may have been acknowledged meanwhile.
    (void)acknowledge_with_policy(nic, qp, psn + 1, now);
    return;
  }
  note_progress<false>(nic, qp, psn + 1, now);
  retire(nic, qp);
}

}  // namespace

void retire(NicState& nic, Qp& qp) {
  SendQueue& queue = qp.send_queue;
  Requester& requester = qp.requester;
  while (queue.head != queue.tail) {
    SendWork& work = queue.at(queue.head);
    if (work.status != CompletionStatus::success) {
      nic.fail_send_head(qp, work.status);
      return;
    }
    if (queue.head == queue.next || distance(work.first_psn + work.packets, requester.una_psn) < 0) break;
    if (work.awaits_data()) {
      VERBENA_ASSERT(requester.outstanding_reads > 0);
      --requester.outstanding_reads;
    }
    ++queue.head;
    nic.complete_send(qp, work, CompletionStatus::success);  // its place stays as it is until the next post
    if (qp.state == QpState::error) return;                  // the CQ overran
  }
  // What is to be sent again is outstanding, too.
  const bool is_at_rest = queue.head == queue.next && requester.next_packet == 0;
  if (qp.sq_draining && is_at_rest && requester.una_psn == requester.sent_psn) {
    qp.sq_draining = false;
    if (qp.sq_drained_notify) nic.raise(AsyncEventType::sq_drained, qp);
  }
  // One that failed here waits for those before it; nothing is to be sent until then.
  if (queue.next != queue.tail && queue.at(queue.next).status == CompletionStatus::success) nic.ready.push_back(qp);
}

void receive_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  if (qp.state != QpState::rts && qp.state != QpState::sqd) return;
  const Requester& requester = qp.requester;
  const Psn psn = packet.bth().psn;
  if (packet.opcode().has_aeth && distance(requester.una_psn - 1, psn) >= 0 && distance(psn, requester.sent_psn) > 0) {
    learn_credits(qp, packet.aeth());
    if (qp.send_queue.next != qp.send_queue.tail) nic.ready.push_back(qp);
  }
  // Outside of what is outstanding: a duplicate or a ghost of an earlier connection (9.7.5.1.4).
  if (distance(requester.una_psn, psn) < 0 || distance(psn, requester.sent_psn) <= 0) return;
  if (packet.opcode().operation == wire::Operation::acknowledge)
    receive_acknowledge(nic, qp, packet, psn, now);
  else
    receive_data(nic, qp, packet, now);
}

void start_ack_timer_late(Qp& qp, std::uint64_t batch, Time now) {
  const Requester& requester = qp.requester;
  if (requester.timed_batch >= batch) qp.timers.postpone(Timer::ack, now + ack_timeout(qp));
}

namespace {

/// The ACK timer is due. Whether somebody may still be about to answer what it runs over.
bool may_be_answered(Qp& qp, Time now, AnswerWatch* answers) {
  if (answers == nullptr) return false;
  const Destination peer{qp.attributes.address_vector.destination, qp.attributes.dest_qpn, qp.route_hint,
                         &qp.frame_template};
  return !answers->has_answered(peer, qp.timers.deadline(Timer::ack) - ack_timeout(qp), now);
}

/// A timer that was put off is not to be a quarter of its length later than need be (C9-140 allows four times it).
void put_off_ack_timer(Qp& qp, Time now) {
  constexpr Duration kAtLeast = microseconds(50);
  qp.timers.postpone(Timer::ack, now + std::max(kAtLeast, Duration{ack_timeout(qp).ns / 16}));
}

}  // namespace

void run_requester_timers(NicState& nic, Qp& qp, Time now, const Awaited& awaited) {
  Requester& requester = qp.requester;
  if (qp.timers.take_due(Timer::rnr, now)) nic.ready.push_back(qp);
  if (qp.timers.is_due(Timer::ack, now)) {
    if (requester.timed_batch > awaited.left)
      start_ack_timer_late(qp, 0, now);
    else if (may_be_answered(qp, now, awaited.answers))
      put_off_ack_timer(qp, now);
  }
  if (qp.timers.take_due(Timer::ack, now)) {
    const Expiry expiry = qp.recovery == nullptr ? Expiry::retry : qp.recovery->expire(qp, now);
    if (expiry == Expiry::too_early) return;
    qp.counters->add(Counter::local_ack_timeout_err);
    requester.read_retry_pending = false;
    if (expiry == Expiry::repair) {
      note_loss(qp, Loss::timeout, now);
      return send_again_from(nic, qp, requester.una_psn, Duration{0}, now);
    }
    retry_from(nic, qp, requester.una_psn, Loss::timeout, Duration{0}, now);
  }
}

}  // namespace verbena::nic
