// AnswerWatch: what a NIC's owner knows of peers that are to answer, where a peer is a program that may not be run.
//
// Solely the interface. A peer on hardware always runs: a NIC without one (a simulation) lets its ACK timers run out
// when they are due.
// Tested by: tests/nic/answer_test.cc
#pragma once

#include "emulator/nic/objects/transmit_port.h"
#include "wire/time.h"

namespace verbena::nic {

class AnswerWatch {
 public:
  virtual ~AnswerWatch() = default;
  /// Whether the peer has answered all that had been handed to it by `since`, and the answers are with the NIC; or it
  /// is not going to. Asked only when an ACK timer that began then is due, at `now`.
  virtual bool has_answered(const Destination& peer, Time since, Time now) = 0;
};

}  // namespace verbena::nic
