// Share: a part of one, in whole numbers, so that a run replays exactly on every machine.
// Tested by: tests/nic/dcqcn_test.cc, tests/nic/dctcp_test.cc
#pragma once

#include <cstdint>

namespace verbena::nic {

/// A share of one, as parts of 2^30.
using Share = std::uint32_t;
inline constexpr Share kWhole = 1u << 30;

/// `share` of it.
constexpr std::uint64_t times(std::uint64_t value, Share share) {
  // In two parts, so that no product is too large: rates have up to 47 bits.
  constexpr unsigned kHalfBits = 15;
  const std::uint64_t high = share >> kHalfBits;
  const std::uint64_t low = share & ((1u << kHalfBits) - 1);
  return ((value * high) + (value * low >> kHalfBits)) >> kHalfBits;
}

}  // namespace verbena::nic
