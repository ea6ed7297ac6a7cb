// SocketRest: the rest of a thread over a link whose frames come out of the kernel.
//
// The thread sleeps on the sockets themselves: no other thread is woken with it. What another thread takes out of a
// socket meanwhile does not end the rest; it is short (PollYield).
// Tested by: tests/host/os/poll_doorbell_test.cc, tests/programs/busy.py
#pragma once

#include "emulator/host/link/core_rest.h"
#include "emulator/host/os/poll_doorbell.h"

namespace verbena::host {

class SocketRest final : public CoreRest {
 public:
  explicit SocketRest(const PollDoorbell& doorbell) : doorbell_(doorbell) {}

  /// The poll before found no frames in the link, and sockets that are readable end a rest at once.
  bool begin_rest(RestSet& by) override {
    doorbell_.end_rest_by_frames(by);
    return true;
  }
  void finish_rest() override {}
  void end_rest() override {}

 private:
  const PollDoorbell& doorbell_;
};

}  // namespace verbena::host
