// The requester's side of selective repeat: which packets are lost, and when (IRN, section 3.1).
#include <algorithm>

#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/requester.h"
#include "emulator/nic/transport_ib/selective_repeat.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::distance;
using wire::later_of;
using wire::Psn;

bool is_before(Psn a, Psn b) {
  return distance(a, b) > 0;
}

/// Of a packet that has been sent, and asks for data if `awaits_data`.
bool is_lost(const SelectiveRepeat& selective, Psn psn, bool awaits_data) {
  if (is_before(psn, selective.executed))
    return awaits_data && is_before(psn, selective.reread_until) && !is_before(psn, selective.reread);
  return is_before(psn, selective.lost_until) && !is_before(psn, selective.repaired) && !selective.sacked.has(psn);
}

/// The first lost packet from `from` on; sent_psn: none is.
Psn next_lost(const Qp& qp, Psn from) {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  const SelectiveRepeat& selective = *qp.selective;
  const bool is_any = is_before(later_of(selective.repaired, from), selective.lost_until) ||
                      is_before(later_of(selective.reread, from), selective.reread_until);
  if (!is_any) return requester.sent_psn;
  for (std::uint32_t position = queue.head; position != queue.tail; ++position) {
    const SendWork& work = queue.at(position);
    if (!is_before(work.first_psn, requester.sent_psn)) break;
    if (work.awaits_data()) {  // one packet, which asks for what is missing
      const Psn psn = work.first_psn + work.received_packets;
      const bool is_answered = work.received_packets == work.packets;
      if (!is_answered && !is_before(psn, from) && is_lost(selective, psn, true)) return psn;
      continue;
    }
    const Psn end = work.first_psn + work.packets;
    const Psn stop = is_before(requester.sent_psn, end) ? requester.sent_psn : end;
    for (Psn psn = later_of(work.first_psn, later_of(from, requester.una_psn)); is_before(psn, stop); ++psn)
      if (is_lost(selective, psn, false)) return psn;
  }
  return requester.sent_psn;
}

/// What an acknowledgement says of arrivals ahead.
void note_sack(Qp& qp, const wire::PacketView& packet) {
  const auto sack = sack_of(packet);
  if (!sack) return;
  SelectiveRepeat& selective = *qp.selective;
  const Requester& requester = qp.requester;
  constexpr std::uint32_t kBits = 64;
  const auto arrived = [&](Psn psn) {
    const bool is_outstanding = !is_before(psn, requester.una_psn) && is_before(psn, requester.sent_psn);
    const bool is_near = distance(requester.una_psn, psn) < static_cast<std::int32_t>(SackedPsns::kPsns);
    if (is_outstanding && is_near && !is_before(psn, selective.executed)) selective.sacked.set(psn);
  };
  if (!is_before(sack->highest, requester.sent_psn)) return;  // of nothing that was sent
  arrived(sack->highest);
  for (std::uint32_t i = 0; i < kBits; ++i)
    if ((sack->below >> i & 1) != 0) arrived(sack->highest - 1 - i);
  selective.lost_until = later_of(selective.lost_until, sack->highest);
}

/// Sends again what is lost.
void repair(NicState& nic, Qp& qp, Time now) {
  const Requester& requester = qp.requester;
  if (qp.timers.runs(Timer::rnr)) return;
  const Psn lost = next_lost(qp, requester.una_psn);
  if (!is_before(lost, requester.next_psn)) return;
  SelectiveRepeat& selective = *qp.selective;
  if (!is_before(requester.una_psn, selective.recovery)) {  // the first loss of a recovery
    selective.recovery = requester.sent_psn;
    note_loss(qp, Loss::sequence_error, now);
  }
  go_back(qp, lost);
  restart_ack_timer(nic, qp, now);
  nic.ready.push_back(qp);
}

}  // namespace

void SackedPsns::forget(Psn begin, Psn end) {
  if (bits_.none()) return;
  const std::int32_t count = std::min(distance(begin, end), static_cast<std::int32_t>(kPsns));
  for (std::int32_t i = 0; i < count; ++i) clear(begin + static_cast<std::uint32_t>(i));
}

std::unique_ptr<SelectiveRepeat> make_selective_repeat(const NicConfig& config, const Qp& qp) {
  if (config.loss_recovery.policy != LossRecovery::selective_repeat || qp.service->type != QpType::rc) return nullptr;
  return std::make_unique<SelectiveRepeat>(config.loss_recovery, std::max(config.window_bytes / qp.mtu, 2u));
}

void start_selective_requester(const NicState& nic, Qp& qp) {
  SelectiveRepeat& selective = *qp.selective;
  Requester& requester = qp.requester;
  const std::uint32_t bound = bdp_window(selective.config, qp.mtu, nic.config.congestion.line_rate_bits_per_second);
  if (bound != 0) requester.window_packets = std::min(requester.window_packets, static_cast<std::int32_t>(bound));
  requester.ack_request_every =
      std::min(requester.ack_request_every, std::max(static_cast<std::uint32_t>(requester.window_packets) / 2, 1u));
  selective.executed = selective.lost_until = selective.repaired = requester.una_psn;
  selective.reread_until = selective.reread = selective.recovery = requester.una_psn;
}

void receive_response_selectively(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  learn_of_peer(nic, qp, packet.bth());
  if (qp.state == QpState::rts || qp.state == QpState::sqd) note_sack(qp, packet);
  receive_response(nic, qp, packet, now);
  if (repeats_selectively(qp) && (qp.state == QpState::rts || qp.state == QpState::sqd)) repair(nic, qp, now);
}

void learn_of_peer(NicState& nic, Qp& qp, const wire::Bth& bth) {
  SelectiveRepeat& selective = *qp.selective;
  if (selective.is_agreed || (bth.reserved7 & wire::kTakesSelectiveRepeat) == 0) return;
  selective.is_agreed = true;
  selective.last_sent = nic.now;
  selective.retry_counts_at = nic.now + qp.requester.ack_timeout;
  if (qp.state == QpState::rts || qp.state == QpState::sqd) restart_ack_timer(nic, qp, nic.now);
}

void pass_by_what_arrived(NicState& nic, Qp& qp, Time now) {
  const Requester& requester = qp.requester;
  if (!repeats_selectively(qp) || requester.next_psn == requester.sent_psn || qp.timers.runs(Timer::rnr)) return;
  const Psn lost = next_lost(qp, requester.next_psn);
  if (lost == requester.next_psn) return;
  go_back(qp, lost);
  if (!qp.timers.runs(Timer::ack)) restart_ack_timer(nic, qp, now);
}

void note_sent(Qp& qp, Psn psn, bool is_again, Time now) {
  SelectiveRepeat& selective = *qp.selective;
  selective.last_sent = now;
  if (is_again) {
    Psn& done = is_before(psn, selective.executed) ? selective.reread : selective.repaired;
    done = later_of(done, qp.requester.next_psn);
  } else if (qp.requester.una_psn == psn) {  // the clock for retries begins with the first packet outstanding
    selective.retry_counts_at = now + qp.requester.ack_timeout;
  }
}

Psn note_executed(Qp& qp, Psn executed) {
  SelectiveRepeat& selective = *qp.selective;
  selective.executed = later_of(selective.executed, executed);
  return selective.executed;
}

void note_acknowledged(Qp& qp, Psn before, Time now) {
  SelectiveRepeat& selective = *qp.selective;
  const Psn una = qp.requester.una_psn;
  selective.sacked.forget(before, una);
  if (!is_before(una, selective.recovery)) selective.has_timed_out = false;
  for (Psn* const bound : {&selective.executed, &selective.lost_until, &selective.repaired, &selective.reread_until,
                           &selective.reread, &selective.recovery})
    *bound = later_of(*bound, una);
  // What a timeout found lost was the first of more: a partial acknowledgement shows the next one (RFC 6582).
  if (selective.has_timed_out && una == selective.executed)
    selective.lost_until = later_of(selective.lost_until, una + 1);
  selective.last_sent = now;
  selective.retry_counts_at = now + qp.requester.ack_timeout;
}

void lose_all_from(Qp& qp, Psn psn) {
  SelectiveRepeat& selective = *qp.selective;
  const Psn sent = qp.requester.sent_psn;
  if (psn != sent) selective.sacked.clear(psn);
  selective.lost_until = selective.reread_until = sent;
  selective.repaired = selective.reread = psn;
}

void lose_responses(Qp& qp) {
  qp.selective->reread = qp.requester.una_psn;
  qp.selective->reread_until = qp.requester.sent_psn;
}

Duration retransmission_timeout(const Qp& qp) {
  const Requester& requester = qp.requester;
  if (!repeats_selectively(qp)) return requester.ack_timeout;
  const LossRecoveryConfig& config = qp.selective->config;
  const std::int32_t in_flight = distance(requester.una_psn, requester.next_psn);
  return in_flight < static_cast<std::int32_t>(config.rto_low_packets) ? config.rto_low : config.rto_high;
}

bool time_out(Qp& qp, Time now) {
  SelectiveRepeat& selective = *qp.selective;
  Requester& requester = qp.requester;
  const Time due = selective.last_sent + retransmission_timeout(qp);
  if (now < due) {
    qp.timers.start(Timer::ack, due);  // the timer heap looks again behind the timers that are due
    return false;
  }
  const Psn una = requester.una_psn;
  selective.has_timed_out = true;
  selective.recovery = requester.sent_psn;
  selective.sacked.clear(una);  // a READ whose responses were lost
  selective.repaired = selective.reread = una;
  selective.lost_until = later_of(selective.lost_until, una + 1);
  selective.reread_until = later_of(selective.reread_until, una + 1);
  return true;
}

bool counts_as_retry(Qp& qp, Time now) {
  SelectiveRepeat& selective = *qp.selective;
  const Duration timeout = qp.requester.ack_timeout;
  if (timeout.ns == 0 || now < selective.retry_counts_at) return false;
  selective.retry_counts_at = now + timeout;
  return true;
}

}  // namespace verbena::nic
