// HubAffinity: on which cores the fabric process may run.
//
// Away from those who poll without end, if others are left: the kernel does not know that they never let go of their
// cores, and whoever is put beside one takes it away each time that it is woken. If none is left, beside those who send
// most: a receiver has more to do with each frame, and does it while the next ones are handed on. Solely responsible
// for that choice.
#pragma once

#include <sched.h>

#include <cstdint>

#include "emulator/host/fabric_process/core_loads.h"

namespace verbena::host {

class HubAffinity {
 public:
  /// `allowed`: by whoever started the thread.
  explicit HubAffinity(const cpu_set_t& allowed) : allowed_(allowed) {}

  /// Where a thread that is on core `present` is to run from now on.
  cpu_set_t choose(const CoreLoads& loads, int present) const;

 private:
  static constexpr std::uint64_t kWorthMoving = 2;  // times as much as comes from the present core

  cpu_set_t allowed_;
};

}  // namespace verbena::host
