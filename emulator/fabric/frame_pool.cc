#include "emulator/fabric/frame_pool.h"

#include <algorithm>

namespace verbena::fabric {

bool FramePool::grow() {
  const auto used = static_cast<std::uint32_t>(infos_.size());
  const std::uint32_t more = std::min(kChunkFrames, frames_max_ - used);
  if (more == 0) return false;
  infos_.resize(used + more);
  // Zeroed: octets that nothing was written to must be the same in every run.
  chunks_.push_back(std::make_unique<std::byte[]>(more * stride_));
  for (std::uint32_t i = more; i-- > 0;) free_.push_back(used + i);
  return true;
}

}  // namespace verbena::fabric
