// Arena: octets that the peeler had to make, for as long as the capture is there.
// Tested by: tests/captures/peel/peeler_test.cc
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace verbena::captures {

class Arena {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{2} << 30;

  /// Room that stays where it is; empty: there is too much already.
  std::span<std::byte> room(std::size_t bytes) {
    if (bytes > kBytesMax - used_) return {};
    if (bytes > left_.size()) {
      const std::size_t chunk = bytes > kChunkBytes ? bytes : kChunkBytes;
      chunks_.push_back(std::make_unique<std::byte[]>(chunk));
      left_ = {chunks_.back().get(), chunk};
    }
    const std::span<std::byte> taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    used_ += bytes;
    return taken;
  }

 private:
  static constexpr std::size_t kChunkBytes = 1 << 20;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::span<std::byte> left_;
  std::size_t used_ = 0;
};

}  // namespace verbena::captures
