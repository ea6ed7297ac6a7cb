// Pass: one turn of a NIC and its link: receive, timers, transmit.
//
// Solely responsible for the order of these, and for the clock that they go by. All calls are under the engine's lock
// unless they say otherwise. It knows neither threads nor sleep: who makes a pass, and when, is Engine's affair.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator/host/engine/acknowledgement_policy.h"
#include "emulator/host/engine/event_dispatch.h"
#include "emulator/host/engine/fair_timers.h"
#include "emulator/host/engine/live_nic.h"
#include "emulator/host/engine/removal.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {

class Pass {
 public:
  using Acknowledge = nic::Nic::Acknowledge;
  struct Traffic {
    std::size_t received = 0;
    std::size_t sent = 0;
    bool any() const { return received != 0 || sent != 0; }
  };

  Pass(LiveNic& live, const EngineConfig& config, EventDispatch& events, Removal& removal)
      : live_(live),
        clock_(*config.clock),
        timers_(*config.clock),
        acknowledgements_(config.prompt_answer.value_or(PingPongDetector::kPrompt)),
        events_(events),
        removal_(removal) {}

  // -- One turn --
  /// Outside of the lock: frames come out of the kernel. What run() is to be told of them.
  FairTimers::Look fetch(std::size_t most);
  /// `fresh_clock`: reads the clock whatever comes. `when`: with_answer if somebody is awake who might answer.
  Traffic run(bool fresh_clock, FairTimers::Look look, Acknowledge when);

  // -- Sending outside of a turn. These publish by themselves. --
  void send(Time now, Acknowledge when = Acknowledge::at_once);
  /// The peer is waiting for the answer; the acknowledgement goes after it.
  void send_answer(Time now);
  /// Sends the acknowledgements that wait.
  void acknowledge(Time now);
  /// What the connection manager has to send, and its timers.
  void step_connections(Time now, ConnectionService::Arrived arrived = ConnectionService::Arrived::perhaps_more);
  /// A call has ended that began at `now`; or the way to a peer is there, for which frames waited.
  void finish_call(Time now);

  /// The device goes, unless it has.
  void remove_device(Time now);

  // -- What is left to do --
  /// kNever: nothing is due.
  Time deadline(Time now) const;
  /// The same for an application that rests: nobody waits for what it owes meanwhile.
  Time deadline_of_rest(Time now) {
    acknowledge(now);
    return deadline(now);
  }
  Time acknowledgement_due() const { return acknowledgements_.due(live_.nic().holds_acknowledgements()); }
  /// deadline() with departures that are to be looked at, for who goes to sleep.
  Time deadline_of_sleep(Time now) { return std::min(deadline(now), timers_.look(live_.nic(), live_.link())); }
  /// The application has polled all that it posted for, and is not about to answer.
  bool app_stops_polling() const {
    return (acknowledgements_.waits_for_next_pass() || !live_.nic().holds_acknowledgements()) &&
           !live_.nic().awaits_completions();
  }

  PassClock& clock() { return clock_; }
  /// The time of the last call or pass that read the clock.
  Time last_now() const { return last_now_; }
  const AcknowledgementPolicy& acknowledgements() const { return acknowledgements_; }
  /// Any thread: ConnectionService::recheck() has something to do, outside of the lock.
  bool has_questions() const { return questions_wait_.load(std::memory_order_relaxed); }
  void take_questions() { questions_wait_.store(false, std::memory_order_relaxed); }

 private:
  class Sink;
  FairTimers::Look look_at_rings(Time now);
  void run_timers(Time now, const FairTimers::Look& look, std::size_t received);
  std::size_t transmit(Time now, Acknowledge when);
  std::size_t transmit_received(Time now, std::size_t received, Acknowledge when);
  void tell_answered(Time began);

  static constexpr Duration kTellAnsweredEvery = microseconds(20);

  LiveNic& live_;
  PassClock clock_;
  std::uint32_t empty_passes_ = 0;
  Time last_now_{};
  Time answered_by_{};  // as told to the peers
  FairTimers timers_;
  AcknowledgementPolicy acknowledgements_;
  EventDispatch& events_;
  Removal& removal_;
  std::atomic<bool> questions_wait_{false};
};

}  // namespace verbena::host
