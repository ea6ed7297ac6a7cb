// AnsweredBy: whether one peer has answered what it was given, by what its page says.
//
// Solely that decision, and how long a peer that says nothing new is believed to be about to answer: a thread that the
// machine does not run waits for less, and a process that is stopped is as a network that is dead. Pure: what was seen
// and the time are arguments, so that every order of events is a test (tests/host/link/shm/answered_by_test.cc).
#pragma once

#include "emulator/host/link/shm/stand_still.h"
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
    return by_ >= since || late_.look(static_cast<std::uint64_t>(by_.ns), now, patience_);
  }

 private:
  Duration patience_;
  Time by_{};
  StandStill late_;  // what it says, since it was first found late
};

}  // namespace verbena::host
