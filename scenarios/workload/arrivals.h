// Arrivals: when the flows of a source come: a Poisson process.
//
// Solely the draws, in integers, so that every compiler gives the same times.
#pragma once

#include <cstdint>
#include <span>

#include "emulator/fabric/chance.h"
#include "scenarios/language/scenario.h"
#include "wire/time.h"

namespace verbena::scenarios {

/// -ln(draw / 2^64), as parts of 2^20: an exponential variate of mean 1. Off by less than 2^-19.
std::uint64_t exponential(std::uint64_t draw);

/// The mean of what is drawn from the choices, in parts of 2^8 octets. 0: they have no octets.
std::uint64_t mean_size(std::span<const SizeChoice> sizes);

class Arrivals {
 public:
  struct Load {
    std::uint64_t rate_bits_per_second = 0;  // of the source's port, not 0
    std::uint32_t load_ppb = 0;              // not 0
    std::uint64_t mean_size = 0;             // as mean_size() has it, not 0
  };
  /// The first arrival is one interval after `begin`.
  Arrivals(const Load& load, std::uint64_t seed, Time begin);

  Time next() const { return begin_ + Duration{static_cast<std::int64_t>(elapsed_ >> kFraction)}; }
  void advance();

 private:
  static constexpr unsigned kFraction = 16;  // times are kept in parts of 2^16 ns: rounding each would move their mean

  std::uint64_t interval_;  // mean
  std::uint64_t elapsed_ = 0;
  fabric::Dice dice_;
  Time begin_;
};

}  // namespace verbena::scenarios
