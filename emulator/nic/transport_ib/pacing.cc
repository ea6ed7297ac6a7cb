// What waits for the clock besides the transport's timers: QPs with a rate limit, under congestion control or without
// their pages.
#include "emulator/nic/transport_ib/pacing.h"

#include <algorithm>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"

namespace verbena::nic {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// A thread that wakes up late makes up for so much, so that the rate is kept on the whole.
constexpr Duration kLatenessMax = microseconds(100);

Duration time_of(std::uint64_t bytes, std::uint64_t bits_per_second) {
  return {static_cast<std::int64_t>(bytes * 8 * kNsPerSecond / bits_per_second)};
}

/// The earliest time for the next packet, when one has left that takes so long.
Time next_after(const Pace& pace, Time now, Duration spacing) {
  return std::max(pace.next, now - pace.burst - pace.lateness) + spacing;
}

/// The lowest of what the program, the path and the network allow.
void find_pace(Pace& pace) {
  const bool is_held = pace.control != nullptr && (!pace.control->is_at_line_rate() || pace.control->wants().pacing);
  const auto lower = [](std::uint64_t one, std::uint64_t other) {  // 0 is no limit
    return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
  };
  pace.bits_per_second = lower(pace.limit_bits_per_second, pace.path_bits_per_second);
  if (is_held) pace.bits_per_second = lower(pace.bits_per_second, pace.control->rate());
  pace.holds_responses = pace.control != nullptr || pace.path_bits_per_second != 0;
}

std::uint32_t packets_between(wire::Psn from, wire::Psn to) {
  return static_cast<std::uint32_t>(std::max(wire::distance(from, to), 0));
}

std::uint32_t outstanding(const Requester& requester) {
  return packets_between(requester.una_psn, requester.sent_psn);
}

void take_window(Qp& qp) {
  qp.requester.window_packets = static_cast<std::int32_t>(qp.pace.control->window_packets());
  find_pace(qp.pace);
}

/// From when a request's last bit had left to its acknowledgement, if that is being measured.
void end_round_trip(Qp& qp, Time now) {
  CongestionControl& control = *qp.pace.control;
  if (!control.measurement || wire::distance(control.measurement->psn, qp.requester.una_psn) <= 0) return;
  control.round_trip(now - control.measurement->left);
  control.measurement.reset();
  find_pace(qp.pace);
}

}  // namespace

void set_pace(Qp& qp, const RateLimit& limit) {
  qp.timers.stop(Timer::pace);
  qp.pace.limit_bits_per_second = std::uint64_t{limit.kbps} * 1000;
  qp.pace.burst = limit.kbps == 0 ? Duration{} : time_of(limit.burst_bytes, qp.pace.limit_bits_per_second);
  qp.pace.next = {};
  find_pace(qp.pace);
}

void set_static_rate(NicState& nic, Qp& qp, std::uint64_t bits_per_second) {
  qp.pace.path_bits_per_second = bits_per_second;
  find_pace(qp.pace);
  if (!qp.timers.runs(Timer::pace)) return;
  qp.timers.stop(Timer::pace);  // what the path before held back
  qp.pace.next = {};
  nic.ready.push_back(qp);
}

void charge_static_rate(Qp& qp, Time now, std::uint64_t bytes, std::uint64_t bits_per_second) {
  qp.pace.next = next_after(qp.pace, now, time_of(bytes, bits_per_second));
}

void start_congestion_control(const NicState& nic, Qp& qp) {
  qp.pace.control = make_congestion_control(nic.config.congestion_of(qp.attributes.port));
  if (qp.pace.control != nullptr) qp.pace.control->tell(nic.config.round_trips);
  find_pace(qp.pace);
}

void slow_down(Qp& qp, Time now) {
  if (qp.pace.control == nullptr) return;
  qp.pace.control->notified(now);
  find_pace(qp.pace);
}

void start_window(Qp& qp) {
  if (qp.pace.control == nullptr || !qp.service->is_reliable) return;
  Requester& requester = qp.requester;
  qp.pace.control->begin(static_cast<std::uint32_t>(requester.window_packets), qp.mtu);
  if (!qp.pace.control->wants().window) return;
  requester.ack_request_every = 1;
  take_window(qp);
}

Departure next_departure(const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  const bool is_first = requester.next_psn == requester.sent_psn;
  return {.psn = requester.next_psn,
          .is_measurable = is_first && queue.next != queue.tail && !queue.at(queue.next).awaits_data()};
}

void note_departure(Qp& qp, const Departure& departure, Time now, std::uint64_t bytes) {
  CongestionControl& control = *qp.pace.control;
  if (!qp.service->is_reliable) return;
  const Time left = now + time_of(bytes, control.line_rate());
  const bool asks = qp.requester.packets_since_ack_request == 0;
  if (control.wants().round_trips && departure.is_measurable && asks && !control.measurement)
    control.measurement = {departure.psn, left};
  if (control.wants().window) control.left(departure.psn, departure.is_measurable ? left : kNever);
}

void note_answer(NicState& nic, Qp& qp, const wire::PacketView& packet, wire::Psn una_before, Time now) {
  end_round_trip(qp, now);
  CongestionControl& control = *qp.pace.control;
  const Requester& requester = qp.requester;
  const std::uint32_t packets = packets_between(una_before, requester.una_psn);
  if (!control.wants().window || packets == 0 || qp.state == QpState::error) return;
  // The data of a READ tells its marks itself; an acknowledgement echoes those of requests.
  const bool is_data = packet.opcode().operation == wire::Operation::read_response;
  const bool data_is_marked = packet.network().is_congestion_marked();
  const wire::Telemetry telemetry = wire::has_telemetry(packet) ? wire::telemetry_of(packet) : wire::Telemetry{};
  control.acknowledged({.now = now,
                        .last = requester.una_psn - 1,
                        .packets = packets,
                        .outstanding = outstanding(requester),
                        .is_marked = is_data ? data_is_marked : packet.bth().becn,
                        .telemetry = wire::has_telemetry(packet) ? &telemetry : nullptr});
  take_window(qp);
  if (qp.send_queue.next != qp.send_queue.tail) nic.ready.push_back(qp);
}

void note_loss(Qp& qp, Loss loss, Time now) {
  CongestionControl* const control = qp.pace.control.get();
  if (control == nullptr || !control->wants().window) return;
  control->lost(now, loss, outstanding(qp.requester));
  take_window(qp);
}

bool pace_allows(NicState& nic, Qp& qp, Time now) {
  if (qp.pace.next > now) {
    qp.pace.lateness = {};
    nic.start_timer(qp, Timer::pace, qp.pace.next);
    return false;
  }
  qp.timers.stop(Timer::pace);
  return true;
}

void charge_pace(Qp& qp, Time now, std::uint64_t bytes) {
  if (qp.pace.control != nullptr) {
    qp.pace.control->sent(now, bytes);
    find_pace(qp.pace);
    if (qp.pace.bits_per_second == 0) return;  // at line rate again
  }
  Duration spacing = time_of(bytes, qp.pace.bits_per_second);
  if (qp.pace.control != nullptr && bytes != 0) spacing = std::max(spacing, qp.pace.control->gap());
  qp.pace.next = next_after(qp.pace, now, spacing);
  // An acknowledgement may be asked for many packets later: what the limit holds back is not lost.
  qp.timers.postpone(Timer::ack, qp.pace.next + ack_timeout(qp));
}

bool waits_for_pages(NicState& nic, Qp& qp) {
  const Time due = nic.regions.take_pages_due();
  if (due == kNever) return false;
  nic.start_timer(qp, Timer::pages, std::min(qp.timers.deadline(Timer::pages), due));
  // What left before may be acknowledged only with what has to wait.
  qp.timers.postpone(Timer::ack, due + ack_timeout(qp));
  return true;
}

void resume_held_back(NicState& nic, Qp& qp, Time now) {
  if (qp.timers.take_due(Timer::pace, now)) {
    qp.pace.lateness = std::clamp(now - qp.pace.next, Duration{}, kLatenessMax);
    nic.ready.push_back(qp);
  }
  if (qp.timers.take_due(Timer::pages, now)) nic.ready.push_back(qp);
}

}  // namespace verbena::nic
