// LookPace: what the fabric process tells of its looks into the rings, and how long it keeps doorbells back.
//
// Solely responsible for these two: the time up to which processes may take it that all that had come has been handed
// on, and when those that sleep on this core are rung. When to look is FabricProcess's to say (fabric_process.h).
// Tested by: tests/host/fabric_process/directed_yield_test.cc, tests/host/fabric_process/uplink_test.cc
#pragma once

#include <cstddef>

#include "emulator/host/fabric_process/shm_ports.h"

namespace verbena::host {

class LookPace {
 public:
  explicit LookPace(ShmPorts& shm) : shm_(shm) {}

  /// A pass has taken all that there was, or has left some.
  void tell_look(Time now, std::size_t taken, bool has_left_some);
  /// Rings those whose doorbells are kept back, once no frame has moved for kGather.
  void ring_in_time(Time now);
  /// In any case.
  void ring();
  void has_moved(Time now) { moved_at_ = now; }

 private:
  static constexpr std::size_t kBacklogFramesMax = 64 * 1024;  // a ring has no room for more
  static constexpr Duration kGather = microseconds(1);
  static constexpr Duration kGatherMax = microseconds(50);  // in all
  static constexpr Duration kGatherMaxForYielder = microseconds(10);

  ShmPorts& shm_;
  Time moved_at_{};  // when any frame last did
  Time gathers_since_ = kNever;
  Time backlog_since_{};
  std::size_t backlog_frames_ = 0;  // taken since then by passes that left some; 0: none was left
};

}  // namespace verbena::host
