// The requester's side of selective repeat: which packets are lost, and when (IRN, section 3.1).
// Tested by: tests/nic/selective_repeat_test.cc
#include <algorithm>

#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/requester.h"
#include "emulator/nic/transport_ib/selective_repeat/selective_repeat.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::distance;
using wire::later_of;
using wire::Psn;

bool is_before(Psn a, Psn b) {
  return distance(a, b) > 0;
}

}  // namespace

/// Of a packet that has been sent, and asks for data if `awaits_data`.
bool SelectiveRepeat::is_lost(Psn psn, bool awaits_data) const {
  if (is_before(psn, executed_before)) return awaits_data && is_before(psn, reread_until) && !is_before(psn, reread);
  return is_before(psn, lost_until) && !is_before(psn, repaired) && !sacked.has(psn);
}

/// The first lost packet from `from` on; sent_psn: none is.
Psn SelectiveRepeat::next_lost(const Qp& qp, Psn from) const {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  const bool is_any =
      is_before(later_of(repaired, from), lost_until) || is_before(later_of(reread, from), reread_until);
  if (!is_any) return requester.sent_psn;
  for (std::uint32_t position = queue.head; position != queue.tail; ++position) {
    const SendWork& work = queue.at(position);
    if (!is_before(work.first_psn, requester.sent_psn)) break;
    if (work.awaits_data()) {  // one packet, which asks for what is missing
      const Psn psn = work.first_psn + work.received_packets;
      const bool is_answered = work.received_packets == work.packets;
      if (!is_answered && !is_before(psn, from) && is_lost(psn, true)) return psn;
      continue;
    }
    const Psn end = work.first_psn + work.packets;
    const Psn stop = is_before(requester.sent_psn, end) ? requester.sent_psn : end;
    for (Psn psn = later_of(work.first_psn, later_of(from, requester.una_psn)); is_before(psn, stop); ++psn)
      if (is_lost(psn, false)) return psn;
  }
  return requester.sent_psn;
}

/// What an acknowledgement says of arrivals ahead.
void SelectiveRepeat::note_sack(const Qp& qp, const wire::PacketView& packet) {
  const auto sack = sack_of(packet);
  if (!sack) return;
  const Requester& requester = qp.requester;
  constexpr std::uint32_t kBits = 64;
  const auto arrived = [&](Psn psn) {
    const bool is_outstanding = !is_before(psn, requester.una_psn) && is_before(psn, requester.sent_psn);
    const bool is_near = distance(requester.una_psn, psn) < static_cast<std::int32_t>(SackedPsns::kPsns);
    if (is_outstanding && is_near && !is_before(psn, executed_before)) sacked.set(psn);
  };
  if (!is_before(sack->highest, requester.sent_psn)) return;  // of nothing that was sent
  arrived(sack->highest);
  for (std::uint32_t i = 0; i < kBits; ++i)
    if ((sack->below >> i & 1) != 0) arrived(sack->highest - 1 - i);
  lost_until = later_of(lost_until, sack->highest);
}

/// Sends again what is lost.
void SelectiveRepeat::repair(NicState& nic, Qp& qp, Time now) {
  const Requester& requester = qp.requester;
  if (qp.timers.runs(Timer::rnr)) return;
  const Psn lost = next_lost(qp, requester.una_psn);
  if (!is_before(lost, requester.next_psn)) return;
  if (!is_before(requester.una_psn, recovery)) {  // the first loss of a recovery
    recovery = requester.sent_psn;
    note_loss(qp, Loss::sequence_error, now);
  }
  go_back(qp, lost);
  restart_ack_timer(nic, qp, now);
  nic.ready.push_back(qp);
}

void SackedPsns::forget(Psn begin, Psn end) {
  if (bits_.none()) return;
  const std::int32_t count = std::min(distance(begin, end), static_cast<std::int32_t>(kPsns));
  for (std::int32_t i = 0; i < count; ++i) clear(begin + static_cast<std::uint32_t>(i));
}

std::unique_ptr<LossRecovery> make_selective_repeat(const NicConfig& config, const Qp& qp) {
  if (qp.service->type != QpType::rc) return nullptr;
  return std::make_unique<SelectiveRepeat>(config.loss_recovery, std::max(config.window_bytes / qp.mtu, 2u));
}

void SelectiveRepeat::posted(SendWork& work) {
  work.receive_number = receives_posted;
  receives_posted += work.consumes_receive();
}

std::uint8_t SelectiveRepeat::request_bits(const wire::OpcodeInfo& info) const {
  const bool is_placed =
      info.operation == wire::Operation::send || (info.operation == wire::Operation::write && !info.has_reth);
  return is_agreed && is_placed ? wire::kTakesSelectiveRepeat | wire::kHasRecoveryHeader : wire::kTakesSelectiveRepeat;
}

void SelectiveRepeat::start_requester(const NicState& nic, Qp& qp) {
  Requester& requester = qp.requester;
  const std::uint32_t bound =
      bdp_window(config, qp.mtu, nic.config.congestion_of(qp.attributes.port).line_rate_bits_per_second);
  if (bound != 0) requester.window_packets = std::min(requester.window_packets, static_cast<std::int32_t>(bound));
  requester.ack_request_every =
      std::min(requester.ack_request_every, std::max(static_cast<std::uint32_t>(requester.window_packets) / 2, 1u));
  executed_before = lost_until = repaired = requester.una_psn;
  reread_until = reread = recovery = requester.una_psn;
}

void SelectiveRepeat::take_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  learn_of_peer(nic, qp, packet.bth());
  if (qp.state == QpState::rts || qp.state == QpState::sqd) note_sack(qp, packet);
  receive_response(nic, qp, packet, now);
  if (is_agreed && (qp.state == QpState::rts || qp.state == QpState::sqd)) repair(nic, qp, now);
}

void SelectiveRepeat::learn_of_peer(NicState& nic, Qp& qp, const wire::Bth& bth) {
  if (is_agreed || (bth.reserved7 & wire::kTakesSelectiveRepeat) == 0) return;
  is_agreed = true;
  last_sent = nic.now;
  retry_counts_at = nic.now + qp.requester.ack_timeout;
  if (qp.state == QpState::rts || qp.state == QpState::sqd) restart_ack_timer(nic, qp, nic.now);
}

void SelectiveRepeat::seek(NicState& nic, Qp& qp, Time now) {
  const Requester& requester = qp.requester;
  if (!is_agreed || requester.next_psn == requester.sent_psn || qp.timers.runs(Timer::rnr)) return;
  const Psn lost = next_lost(qp, requester.next_psn);
  if (lost == requester.next_psn) return;
  go_back(qp, lost);
  if (!qp.timers.runs(Timer::ack)) restart_ack_timer(nic, qp, now);
}

void SelectiveRepeat::sent(Qp& qp, Psn psn, bool is_again, Time now) {
  last_sent = now;
  if (is_again) {
    Psn& done = is_before(psn, executed_before) ? reread : repaired;
    done = later_of(done, qp.requester.next_psn);
  } else if (qp.requester.una_psn == psn) {  // the clock for retries begins with the first packet outstanding
    retry_counts_at = now + qp.requester.ack_timeout;
  }
}

Psn SelectiveRepeat::executed(Psn before) {
  executed_before = later_of(executed_before, before);
  return executed_before;
}

void SelectiveRepeat::acknowledged(Qp& qp, Psn before, Time now) {
  const Psn una = qp.requester.una_psn;
  sacked.forget(before, una);
  if (!is_before(una, recovery)) has_timed_out = false;
  for (Psn* const bound : {&executed_before, &lost_until, &repaired, &reread_until, &reread, &recovery})
    *bound = later_of(*bound, una);
  // What a timeout found lost was the first of more: a partial acknowledgement shows the next one (RFC 6582).
  if (has_timed_out && una == executed_before) lost_until = later_of(lost_until, una + 1);
  last_sent = now;
  retry_counts_at = now + qp.requester.ack_timeout;
}

void SelectiveRepeat::lose_from(Qp& qp, Psn psn) {
  const Psn sent = qp.requester.sent_psn;
  if (psn != sent) sacked.clear(psn);
  lost_until = reread_until = sent;
  repaired = reread = psn;
}

void SelectiveRepeat::lose_responses(Qp& qp) {
  reread = qp.requester.una_psn;
  reread_until = qp.requester.sent_psn;
}

Duration SelectiveRepeat::ack_timeout(const Qp& qp) const {
  const Requester& requester = qp.requester;
  if (!is_agreed) return requester.ack_timeout;
  const std::int32_t in_flight = distance(requester.una_psn, requester.next_psn);
  return in_flight < static_cast<std::int32_t>(config.rto_low_packets) ? config.rto_low : config.rto_high;
}

bool SelectiveRepeat::time_out(Qp& qp, Time now) {
  Requester& requester = qp.requester;
  const Time due = last_sent + ack_timeout(qp);
  if (now < due) {
    qp.timers.start(Timer::ack, due);  // the timer heap looks again behind the timers that are due
    return false;
  }
  const Psn una = requester.una_psn;
  has_timed_out = true;
  recovery = requester.sent_psn;
  sacked.clear(una);  // a READ whose responses were lost
  repaired = reread = una;
  lost_until = later_of(lost_until, una + 1);
  reread_until = later_of(reread_until, una + 1);
  return true;
}

bool SelectiveRepeat::counts_as_retry(const Qp& qp, Time now) {
  const Duration timeout = qp.requester.ack_timeout;
  if (timeout.ns == 0 || now < retry_counts_at) return false;
  retry_counts_at = now + timeout;
  return true;
}

Expiry SelectiveRepeat::expire(Qp& qp, Time now) {
  if (!is_agreed) {
    lose_from(qp, qp.requester.una_psn);
    return Expiry::retry;
  }
  if (!time_out(qp, now)) return Expiry::too_early;
  return counts_as_retry(qp, now) ? Expiry::retry : Expiry::repair;
}

bool SelectiveRepeat::repairs(const wire::PacketView& nak) const {
  return wire::sack_of(nak).has_value();
}

bool SelectiveRepeat::knows_only_of_what_is_outstanding(const Qp& qp) const {
  const Requester& requester = qp.requester;
  const auto is_outstanding = [&](Psn psn) {
    return distance(requester.una_psn, psn) >= 0 && distance(psn, requester.sent_psn) >= 0;
  };
  const bool are_bounds = is_outstanding(executed_before) && is_outstanding(lost_until) && is_outstanding(repaired) &&
                          is_outstanding(reread_until);
  std::uint32_t known = 0;
  constexpr auto kPsns = static_cast<std::int32_t>(SackedPsns::kPsns);
  for (std::int32_t i = 0; i < std::min(distance(requester.una_psn, requester.sent_psn), kPsns); ++i)
    known += sacked.has(requester.una_psn + static_cast<std::uint32_t>(i));
  return are_bounds && known == sacked.count();
}

}  // namespace verbena::nic
