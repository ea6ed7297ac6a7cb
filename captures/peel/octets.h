// Octets: what is left of a captured packet, of which a snap length may have cut off the end.
//
// Solely responsible for bounds: nobody else in this folder touches a packet's octets. What lies beyond the end reads
// as 0; who decides by a value asks has() before. It owns nothing.
// Tested by: tests/captures/peel/peeler_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/assert.h"

namespace verbena::captures {

class Octets {
 public:
  Octets() = default;
  /// `on_wire`: how many there were before the capture cut them.
  Octets(std::span<const std::byte> bytes, std::size_t on_wire)
      : bytes_(bytes), on_wire_(std::max(on_wire, bytes.size())) {}

  bool has(std::size_t count) const { return count <= bytes_.size(); }
  std::size_t size() const { return bytes_.size(); }
  std::size_t on_wire() const { return on_wire_; }
  bool is_cut() const { return bytes_.size() < on_wire_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  std::uint32_t u8(std::size_t at) const { return at < bytes_.size() ? std::to_integer<std::uint32_t>(bytes_[at]) : 0; }
  std::uint32_t u16(std::size_t at) const { return u8(at) << 8 | u8(at + 1); }
  std::uint32_t u24(std::size_t at) const { return u16(at) << 8 | u8(at + 2); }
  std::uint32_t u32(std::size_t at) const { return u16(at) << 16 | u16(at + 2); }
  std::uint32_t u16_little(std::size_t at) const { return u8(at) | u8(at + 1) << 8; }
  std::uint32_t u32_little(std::size_t at) const { return u16_little(at) | u16_little(at + 2) << 16; }

  /// Goes on behind so many, which must be there.
  void drop(std::size_t count) {
    VERBENA_ASSERT(has(count));
    bytes_ = bytes_.subspan(count);
    on_wire_ -= count;
  }
  /// What a length field says: no more than so many follow. Padding and trailers go.
  void limit(std::size_t count) {
    on_wire_ = std::min(on_wire_, count);
    bytes_ = bytes_.first(std::min(bytes_.size(), on_wire_));
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t on_wire_ = 0;
};

}  // namespace verbena::captures
