// Input: a fuzzer's octets, taken from the front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbena::test {

/// Gives zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t u8() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  std::uint32_t u32() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | u8();
    return value;
  }
  /// At most so many, in memory of their own: a read beyond the last is one of the sanitizer's.
  std::vector<std::byte> bytes(std::size_t wanted) {
    const std::size_t count = std::min(wanted, rest_.size());
    const auto part = std::as_bytes(rest_.first(count));
    rest_ = rest_.subspan(count);
    return {part.begin(), part.end()};
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace verbena::test
