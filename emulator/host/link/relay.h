// Relay: another process of this machine carries the frames between the ends, and may itself wait for its turn.
//
// An optional part of a link (LinkParts::relay), for a link whose frames do not lie before receive() as soon as their
// sender has let go of them. Solely the interface: under the engine's lock, never entering the kernel.
// Tested by: tests/host/fabric_process/back_pressure_test.cc
#pragma once

#include "wire/time.h"

namespace verbena::host {

class Relay {
 public:
  virtual ~Relay() = default;
  /// What had been handed to it by the time returned, at most `now`, lies before receive() if it has arrived at all.
  /// A relay that has stood still for too long counts as a network that is dead: `now`.
  virtual Time delivered_by(Time now) = 0;
};

}  // namespace verbena::host
