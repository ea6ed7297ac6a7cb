// CoreLoads: what the applications of a fabric's processes did on each core.
//
// Solely the value: ShmPorts finds it (shm_ports.h), and the fabric process goes by it (hub_affinity.h).
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::host {

/// What the applications did on each core since somebody looked last.
struct CoreLoads {
  cpu_set_t polled_on{};                            // without end
  std::array<std::uint64_t, CPU_SETSIZE> octets{};  // of frames that came from there
};

}  // namespace verbena::host
