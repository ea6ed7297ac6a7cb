// CoreLease: whether the fabric process is short of a core and asks those who poll on its own to yield it.
//
// Solely responsible for that decision, and for the clock that ticks while it asks: as long as it does, frames may be
// left in the rings without a doorbell (UplinkYield::publish), and a tick is the latest that they are found. One clock
// set for all ticks costs less than a time limit to each sleep, for which a hypervisor sets a timer.
#pragma once

#include "emulator/host/os/descriptor.h"
#include "wire/time.h"

namespace verbena::host {

class CoreLease {
 public:
  static constexpr Duration kTick = milliseconds(1);
  static constexpr Duration kShortSleep = microseconds(100);
  static constexpr Duration kQuiet = microseconds(500);  // without frames: nobody misses a core
  static constexpr int kScoreToBegin = 8;                // short sleeps more than others
  static constexpr int kScoreMax = 16;

  /// Without a clock (no descriptor left) it never asks.
  CoreLease();

  bool is_on() const { return state_ == State::on; }
  /// Readable at each tick; -1: it does not tick.
  int clock() const { return state_ == State::off ? -1 : clock_.get(); }

  void moved(Time now) { moved_at_ = now; }
  /// Frames have ended a sleep of so long, on a core that a process polled on meanwhile, or not.
  void woken_after(Duration slept, bool shares_core);
  /// clock() is readable.
  void ticked(Time now);

 private:
  // Ending: nobody is asked any more, but what was left before may still wait; one tick later it has been found.
  enum class State : std::uint8_t { off, on, ending };
  void end() { state_ = State::ending; }
  bool set_clock(Duration every);

  Descriptor clock_;
  State state_ = State::off;
  int score_ = 0;
  Time moved_at_{};
};

}  // namespace verbena::host
