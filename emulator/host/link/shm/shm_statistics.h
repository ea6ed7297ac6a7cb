// ShmStatistics: what happened to frames and peers on a link over shared memory; read under the engine's lock.
//
// Solely the value.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <cstdint>

namespace verbena::host {

struct ShmStatistics {
  std::uint64_t vanished_unreachable = 0;  // nobody there, or gone
  std::uint64_t vanished_multicast = 0;
  std::uint64_t vanished_stalled = 0;  // the peer has not consumed for ShmPeers::Options::stall_max
  std::uint64_t broken_channels = 0;   // a peer wrote what no peer writes
  std::uint64_t wakes = 0;             // doorbells for peers that said they sleep
  std::uint64_t kicks = 0;             // doorbells for peers that did not move
};

}  // namespace verbena::host
