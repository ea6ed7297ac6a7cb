// AdaptiveSpin: how long to look for frames in vain before it is better to sleep.
//
// Solely responsible for that guess: longer where looking finds frames, shorter where it does not. A sleep that frames
// end soon says as much as a find, unless they came because the sleeper let go of the core that their sender needs.
// Plain arithmetic.
#pragma once

#include <algorithm>

#include "wire/time.h"

namespace verbena::host {

class AdaptiveSpin {
 public:
  static constexpr Duration kMin = microseconds(1);
  static constexpr Duration kMax = microseconds(32);

  Duration get() const { return spin_; }
  void found() { spin_ = std::min(spin_ * 2, kMax); }
  void missed() { spin_ = std::max(Duration{spin_.ns / 2}, kMin); }
  /// Frames have ended a sleep of so long, and nobody else wanted the core.
  void woken_after(Duration slept) {
    if (slept < kMax) found();
  }

 private:
  Duration spin_ = kMax;
};

}  // namespace verbena::host
