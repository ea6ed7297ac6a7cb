// InProcessLink: a cable between two links of one process, for tests and for embedding. No kernel, no threads of its
// own.
//
// Each end belongs to one engine (or to one test): its calls are made as link.h says, the two ends may run in different
// threads. A frame for the end's own address loops back into it; every other frame goes to the far end, whatever
// address it carries. Order is deterministic: in order of commit per direction, looped frames before the far end's. An
// end whose far end is gone behaves as a cable that was pulled: frames vanish.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "emulator/host/link/link.h"

namespace verbena::host {

struct InProcessCable {
  wire::Gid first;
  wire::Gid second;
  wire::MacAddress first_mac;
  wire::MacAddress second_mac;
  /// Frames under way in one direction before there is back pressure; a power of two.
  std::size_t depth_frames = 1024;
};

/// The two ends: first.first has the address cable.first.
std::pair<std::unique_ptr<Link>, std::unique_ptr<Link>> connect_in_process(const InProcessCable& cable);

}  // namespace verbena::host
