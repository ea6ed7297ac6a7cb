#include "emulator/host/fabric_process/look_pace.h"

#include <algorithm>

namespace verbena::host {

/// Processes run no timer over what we have not handed on. Frames that come faster than they are taken do not put that
/// off for ever: once as many have passed as a ring holds, what lay there has been taken.
void LookPace::tell_look(Time now, std::size_t taken, bool has_left_some) {
  if (!has_left_some) {
    backlog_frames_ = 0;
    return shm_.has_looked(now);
  }
  if (backlog_frames_ == 0) backlog_since_ = now;
  backlog_frames_ += taken;
  if (backlog_frames_ < kBacklogFramesMax) return;
  shm_.has_looked(backlog_since_);
  backlog_frames_ = 0;
}

void LookPace::ring_in_time(Time now) {
  gathers_since_ = std::min(gathers_since_, now);
  const Duration most = shm_.yielded_cores().has_any() ? kGatherMaxForYielder : kGatherMax;
  if (now < std::min(moved_at_ + kGather, gathers_since_ + most)) return;
  ring();
}

void LookPace::ring() {
  shm_.ring_held_doorbells();
  gathers_since_ = kNever;
}

}  // namespace verbena::host
