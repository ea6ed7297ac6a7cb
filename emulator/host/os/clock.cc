#include "emulator/host/os/clock.h"

namespace verbena::host {

const Clock& real_clock() {
  static const class : public Clock {
    Time now() const override { return clock_now(); }
  } clock;
  return clock;
}

}  // namespace verbena::host
