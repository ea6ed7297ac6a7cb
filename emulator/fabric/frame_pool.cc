#include "emulator/fabric/frame_pool.h"

#include <algorithm>

namespace verbena::fabric {

bool FramePool::grow(bool is_long) {
  const std::uint32_t more = std::min(kChunkFrames, frames_max_ - made_[is_long]);
  if (more == 0) return false;
  made_[is_long] += more;
  const auto first = static_cast<FrameNumber>(infos_.size());
  infos_.resize(first + kChunkFrames);
  const std::size_t stride = is_long ? long_stride_ : short_stride_;
  // Zeroed: octets that nothing was written to must be the same in every run.
  chunks_.push_back(
      {std::make_unique<std::byte[]>(kChunkFrames * stride), static_cast<std::uint32_t>(stride), is_long});
  for (std::uint32_t i = more; i-- > 0;) free_[is_long].push_back(first + i);
  return true;
}

std::uint64_t FramePool::memory_bytes() const {
  std::uint64_t bytes = infos_.size() * (sizeof(FrameInfo) + sizeof(FrameNumber));
  for (const Chunk& chunk : chunks_) bytes += std::uint64_t{kChunkFrames} * chunk.stride;
  return bytes;
}

}  // namespace verbena::fabric
