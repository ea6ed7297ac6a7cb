// CoreRest: how a thread that polls in vain on a core that others need sleeps there until frames come.
//
// An optional part of a link (LinkParts::core_rest): only the link knows how its frames end a sleep. When a thread
// rests is engine/poll_yield.h's to say. sched_yield() is no such way: it makes room for those alone that the scheduler
// counts to the caller's own group, and a process of another session (sched_autogroup, sched(7)) or control group gets
// nothing by it, or a whole time slice.
// Tested by: tests/host/link/shm/shm_rest_test.cc, tests/host/os/poll_doorbell_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "wire/time.h"

namespace verbena::host {

class CoreRest {
 public:
  virtual ~CoreRest() = default;
  /// A rest that has begun.
  struct Begun {
    std::uint32_t mark = 0;  // the link's
  };
  /// Under the engine's lock: from now on frames end the rest. Nothing: some wait already, do not rest.
  virtual std::optional<Begun> begin_rest() = 0;
  /// Outside of it, after flush(); at most so long. False: nothing has ended it by then.
  virtual bool rest(Begun begun, Duration longest) = 0;
  /// Another thread of the process has taken frames, which whoever rests may wait for.
  virtual void end_rest() = 0;
};

}  // namespace verbena::host
