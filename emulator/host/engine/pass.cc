#include "emulator/host/engine/pass.h"

#include <algorithm>

namespace verbena::host {
namespace {
constexpr std::size_t kReceiveBudget = 64;   // frames per pass
constexpr std::size_t kTransmitBudget = 64;  // frames per pass or call; a ring holds about as many of the largest
constexpr std::uint32_t kPassesPerClock = 16;
constexpr Duration kBackPressureRetry = microseconds(50);
}  // namespace

/// Hands frames to the NIC. The clock is read at the first frame of a pass, and only then.
class Pass::Sink final : public FrameSink {
 public:
  Sink(nic::Nic& nic, PassClock& clock, Time now, bool fresh) : now_(now), nic_(nic), clock_(clock), fresh_(fresh) {}
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override { nic_.receive(now(), frame, icrc); }
  void arrives_by(std::uint32_t port) override { nic_.set_arrival_port(port); }
  Time now() {
    if (!fresh_) now_ = clock_.now();
    fresh_ = true;
    return now_;
  }
  bool fresh() const { return fresh_; }

 private:
  Time now_;
  nic::Nic& nic_;
  PassClock& clock_;
  bool fresh_;
};

// -- One turn ---------------------------------------------------------------------------------------------------------

/// Only who is to run a timer needs to know that these are all.
FairTimers::Look Pass::fetch(std::size_t most) {
  if (!timers_.wants_all()) {
    live_.link().fetch(most);
    return {};
  }
  const Time since = clock_.exact();
  return {.since = since, .is_all = live_.link().fetch_all()};
}

/// Before receive(): what has arrived lies in the link's rings, unless a process between the ends or at the other one
/// has it in hand. Only who is to run a timer asks about that.
FairTimers::Look Pass::look_at_rings(Time now) {
  if (live_.parts().relay == nullptr && live_.parts().answers == nullptr) return {.since = now, .is_all = true};
  if (!timers_.wants_all()) return {};
  if (live_.parts().answers != nullptr) live_.parts().answers->look();
  return {.since = live_.parts().relay != nullptr ? live_.parts().relay->delivered_by(now) : now, .is_all = true};
}

Pass::Traffic Pass::run(bool fresh_clock, FairTimers::Look look, Acknowledge when) {
  if (live_.is_decorated() || timers_.wants_all() || ++empty_passes_ % kPassesPerClock == 0) fresh_clock = true;
  const Time began = fresh_clock ? clock_.now() : last_now_;
  Sink sink(live_.nic(), clock_, began, fresh_clock);
  if (!live_.frames_need_kernel()) look = look_at_rings(began);
  Traffic traffic;
  traffic.received = live_.port().receive(began, sink, kReceiveBudget);
  acknowledgements_.took(traffic.received == kReceiveBudget);
  if (sink.fresh()) run_timers(sink.now(), look, traffic.received);
  if (sink.fresh() && removal_.due() <= sink.now()) remove_device(sink.now());
  if (live_.nic().has_work() || live_.nic().holds_acknowledgements())
    traffic.sent = transmit_received(sink.now(), traffic.received, when);
  if (traffic.sent != 0 || sink.fresh()) live_.port().publish();
  if (sink.fresh()) {
    last_now_ = sink.now();
    // No more often than timers are precise.
    if (live_.parts().answers != nullptr && traffic.received < kReceiveBudget &&
        began - answered_by_ >= kTellAnsweredEvery)
      tell_answered(began);
  }
  if (live_.nic().has_events()) events_.note();
  return traffic;
}

void Pass::run_timers(Time now, const FairTimers::Look& look, std::size_t received) {
  timers_.look_after_departures(now, live_.nic(), live_.link());
  const Time due = std::min(live_.nic().next_deadline().value_or(kNever), live_.connections().due());
  if (due > now) return timers_.rest();
  const auto until =
      timers_.allow(due, look, {.frames = received, .is_all = received < kReceiveBudget && !live_.port().holds_back()});
  if (!until) return;
  if (const auto timer = live_.nic().next_deadline(); timer && *timer <= *until) {
    timers_.look(live_.nic(), live_.link());
    live_.nic().on_deadline(*until, timers_.left(), live_.parts().answers);
  }
  if (live_.connections().due() <= *until)
    step_connections(now, timers_.has_heard_all() ? ConnectionService::Arrived::all_taken
                                                  : ConnectionService::Arrived::perhaps_more);
}

/// A pass that began then has taken all. Peers let no timer run over what we have not answered (PeerAnswers).
void Pass::tell_answered(Time began) {
  if (live_.port().holds_back() || live_.nic().owes_answers()) return;
  answered_by_ = began;
  live_.parts().answers->tell_answered(began);
}

// -- Sending ----------------------------------------------------------------------------------------------------------

/// The one way out of the NIC.
std::size_t Pass::transmit(Time now, Acknowledge when) {
  const std::size_t sent = live_.nic().transmit(now, live_.port(), kTransmitBudget, when);
  if (sent != 0) timers_.built(now);
  return sent;
}

void Pass::send(Time now, Acknowledge when) {
  if (transmit(now, when) != 0) live_.port().publish();
}

/// Sends what a turn gave rise to. `when`: at_once if nobody is awake who might answer.
std::size_t Pass::transmit_received(Time now, std::size_t received, Acknowledge when) {
  when = acknowledgements_.of_pass(
      now, received, when == Acknowledge::with_answer, live_.nic().holds_acknowledgements(),
      [&] { return live_.parts().scheduling != nullptr && live_.parts().scheduling->wants_one_answer_for_all(); });
  const std::uint64_t acknowledged = live_.sum_of(nic::Counter::tx_acknowledges);
  const std::size_t sent = transmit(now, when);
  if (live_.nic().holds_acknowledgements() || live_.sum_of(nic::Counter::tx_acknowledges) != acknowledged)
    acknowledgements_.executed(now);
  return sent;
}

void Pass::acknowledge(Time now) {
  if (live_.nic().holds_acknowledgements()) send(now);
}

void Pass::send_answer(Time now) {
  if (!live_.nic().has_work()) return;
  acknowledgements_.answered(now);
  if (!live_.nic().holds_acknowledgements()) return;
  send(now, Acknowledge::with_answer);
  acknowledge(now);
}

void Pass::step_connections(Time now, ConnectionService::Arrived arrived) {
  const auto frames_of = [&](std::uint32_t port) -> FramePort& { return live_.frames_of(port); };
  const auto counters_of = [&](std::uint32_t port) -> nic::Counters& { return live_.counters(port); };
  if (live_.connections().step(now, frames_of, counters_of, arrived) != 0) live_.port().publish();
  if (live_.connections().has_events()) events_.note();
  if (live_.connections().has_questions(now)) questions_wait_.store(true, std::memory_order_relaxed);
}

void Pass::finish_call(Time now) {
  if (live_.nic().has_work()) send(now);
  last_now_ = std::max(last_now_, now);
  if (live_.nic().has_events()) events_.note();
}

// -- What is left -----------------------------------------------------------------------------------------------------

void Pass::remove_device(Time now) {
  if (!removal_.begin()) return;
  live_.nic().remove_device(now);
  live_.connections().device_removed();
  events_.note();
}

Time Pass::deadline(Time now) const {
  Time deadline = kNever;
  if (const auto due = live_.nic().next_deadline()) deadline = std::min(deadline, *due);
  if (const auto due = live_.port().next_deadline()) deadline = std::min(deadline, *due);
  deadline = std::min({deadline, live_.connections().due(), removal_.due()});
  if (live_.nic().has_work()) deadline = std::min(deadline, now + kBackPressureRetry);
  return deadline;
}

}  // namespace verbena::host
