// PingPongDetector: whether the application answers requests at once, as in a ping-pong.
//
// Solely responsible for that guess, which decides whether an acknowledgement waits for the answer and leaves together
// with it (engine.h). Plain arithmetic; under the engine's lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class PingPongDetector {
 public:
  /// What comes later than `prompt` after a request is no prompt answer.
  explicit PingPongDetector(Duration prompt = kPrompt) : prompt_(prompt) {}
  static constexpr Duration kPrompt = microseconds(10);
  /// So many prompt answers in a row, and the next one is expected. A miss halves what has been earned: after two or
  /// three misses in a row none is expected any more.
  static constexpr std::uint32_t kExpectedFrom = 16;
  static constexpr std::uint32_t kEarnedMax = 4 * kExpectedFrom;

  /// Requests were executed. Several before an answer count from the first one on.
  void received(Time now) {
    if (since_ == kNever) since_ = now;
  }
  /// The application has sent something.
  void sent(Time now) {
    if (since_ == kNever) return;
    if (now - since_ <= prompt_)
      earned_ = std::min(earned_ + 1, kEarnedMax);
    else
      earned_ /= 2;
    since_ = kNever;
  }
  /// When the answer to what was received would be late; kNever: nothing waits for one.
  Time due() const { return since_ == kNever ? kNever : since_ + prompt_; }
  bool is_overdue(Time now) const { return now > due(); }
  /// It is not waited for any longer.
  void missed() {
    earned_ /= 2;
    since_ = kNever;
  }
  bool are_expected() const { return earned_ >= kExpectedFrom; }

 private:
  Duration prompt_;
  Time since_ = kNever;
  std::uint32_t earned_ = 0;
};

}  // namespace verbena::host
