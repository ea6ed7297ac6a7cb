// AcknowledgementPolicy: whether an acknowledgement that the NIC owes leaves at once or waits, and until when.
//
// Solely responsible for that decision. In a ping-pong it waits for the application's answer and leaves with it
// (PingPongDetector guesses); in a stream it waits for the second pass of a batch, which takes the rest of most. What
// holds it is the NIC (Nic::Acknowledge), what sends it is the engine; a thread that looks after it is sleep_plan.h's.
// Pure: it reads no clock and knows no link, so that every order of events is a test
// (tests/host/engine/acknowledgement_test.cc). Under the engine's lock.
// Tested by: tests/host/engine/acknowledgement_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/host/engine/ping_pong_detector.h"
#include "emulator/nic/nic.h"
#include "wire/time.h"

namespace verbena::host {

class AcknowledgementPolicy {
 public:
  using Acknowledge = nic::Nic::Acknowledge;
  static constexpr std::size_t kFramesOfATurn = 4;  // of a ping-pong: request and acknowledgement, and a little more

  explicit AcknowledgementPolicy(Duration prompt = PingPongDetector::kPrompt) : detector_(prompt) {}

  /// A pass has taken frames. `budget_used`: as many as it may take, so that there may be more.
  void took(bool budget_used) { backlog_passes_ = budget_used ? backlog_passes_ + 1 : 0; }
  /// What the pass is to do with acknowledgements. `may_wait`: somebody is awake who may answer; `holds`: some wait
  /// already; `wants_one_answer_for_all()`: the link would rather have one for many, it is asked only if that decides.
  template <class WantsOneAnswerForAll>
  Acknowledge of_pass(Time now, std::size_t frames, bool may_wait, bool holds,
                      WantsOneAnswerForAll&& wants_one_answer_for_all) {
    waits_for_next_pass_ = may_wait && backlog_passes_ == 1 && wants_one_answer_for_all();
    const bool waits_for_answer = may_wait && detector_.are_expected() && frames <= kFramesOfATurn;
    if (holds && detector_.is_overdue(now)) {
      detector_.missed();
      return Acknowledge::at_once;
    }
    return waits_for_next_pass_ || waits_for_answer ? Acknowledge::with_answer : Acknowledge::at_once;
  }
  /// Requests were executed: an acknowledgement has left, or waits.
  void executed(Time now) { detector_.received(now); }
  /// The application sends something. What waits leaves behind it.
  void answered(Time now) { detector_.sent(now); }

  /// One waits for the next pass, which the application that polls need not be there for.
  bool waits_for_next_pass() const { return waits_for_next_pass_; }
  /// The next request is likely to be answered at once.
  bool expects_answers() const { return detector_.are_expected(); }
  /// When one that waits is to leave without the answer.
  Time due(bool holds) const { return holds ? detector_.due() : kNever; }

 private:
  PingPongDetector detector_;
  std::uint32_t backlog_passes_ = 0;  // in a row
  bool waits_for_next_pass_ = false;
};

}  // namespace verbena::host
