// AnsweredBy: whether one peer has answered what it was given, by what its page says.
//
// Solely that decision, and how long a peer that says nothing new is believed to be about to answer: a thread that the
// machine does not run waits for less, and a process that is stopped is as a network that is dead. Pure: what was seen
// and the time are arguments, so that every order of events is a test (tests/host/link/shm/answered_by_test.cc).
#pragma once

#include "wire/time.h"

namespace verbena::host {

class AnsweredBy {
 public:
  /// `patience`: with a peer that says nothing new.
  explicit AnsweredBy(Duration patience) : patience_(patience) {}

  /// It says that by then it had answered all that it had been given. kNever: it has nothing to answer.
  void look(Time by) { by_ = by; }
  /// What it had been given by `since`; or it is not going to.
  bool has_answered(Time since, Time now) {
    if (by_ >= since) return true;
    if (by_ != late_by_ || late_since_ == kNever) {
      late_by_ = by_;
      late_since_ = now;
    }
    return now - late_since_ >= patience_;
  }

 private:
  Duration patience_;
  Time by_{};
  Time late_by_{};            // what it said when it was first found late
  Time late_since_ = kNever;  // and when that was
};

}  // namespace verbena::host
