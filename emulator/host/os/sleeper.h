// Sleeper: how a thread of an engine sleeps. The machine's is in the kernel; another one goes with a given clock.
// Tested by: tests/host/engine/given_clock_test.cc
#pragma once

#include <poll.h>

#include <span>

#include "wire/time.h"

namespace verbena::host {

class Sleeper {
 public:
  virtual ~Sleeper() = default;
  /// As ppoll(2), until it is `until` by the engine's clock; kNever: until a descriptor is ready.
  virtual int wait(std::span<pollfd> descriptors, Time until) = 0;
  /// For so long others run: a thread or a peer does what the caller waits for.
  virtual void pause(Duration length) = 0;
};
/// With real_clock().
Sleeper& real_sleeper();

}  // namespace verbena::host
