// CoreRest: how a thread that polls in vain on a core that others need sleeps there until frames come.
//
// An optional part of a link (LinkParts::core_rest): only the link knows how its frames end a sleep, and it says so; a
// sleep may be over several links. When a thread rests is engine/poll_yield.h's to say. sched_yield() is no such way:
// it makes room for those alone that the scheduler counts to the caller's own group, and a process of another session
// (sched_autogroup, sched(7)) or control group gets nothing by it, or a whole time slice.
// Tested by: tests/host/link/shm/shm_rest_test.cc, tests/host/os/poll_doorbell_test.cc
#pragma once

#include "emulator/host/os/joint_rest.h"

namespace verbena::host {

class CoreRest {
 public:
  virtual ~CoreRest() = default;
  /// Under the engine's lock: from now on frames end the rest, by what is added to `by` (JointRest), and whoever has
  /// begun one finishes it. False: some wait already, do not rest; nothing has begun, and the set is of no use.
  virtual bool begin_rest(RestSet& by) = 0;
  /// Outside of it: the rest is over, or does not take place.
  virtual void finish_rest() = 0;
  /// Another thread of the process has taken frames, which whoever rests may wait for.
  virtual void end_rest() = 0;
};

}  // namespace verbena::host
