// PeerAnswers: what processes at the two ends of a link tell each other about answers: up to when each has given them.
//
// A NIC that is a process answers when the machine runs it, which may be long after a request has reached it, and a
// timer of the asker is not to run out over that (engine/fair_timers.h). An optional part of a link
// (LinkParts::answers): only shared memory can see it. Solely the interface: under the engine's lock, never entering
// the kernel.
// Tested by: tests/host/engine/fair_timers_test.cc
#pragma once

#include "emulator/nic/objects/answer_watch.h"
#include "wire/time.h"

namespace verbena::host {

class PeerAnswers : public nic::AnswerWatch {
 public:
  /// We have taken all that had arrived by then, and what we owed for it has left.
  virtual void tell_answered(Time by) = 0;
  /// We are about to rest, and answer nothing until something comes; we may owe something nevertheless.
  virtual void tell_rest(bool owes) = 0;
  /// Before receive(): notes what the peers have told. has_answered() goes by that: the answers that they have given by
  /// then are taken by the time it is asked.
  virtual void look() = 0;
};

}  // namespace verbena::host
