#include "scenarios/workload/arrivals.h"

#include <algorithm>
#include <bit>

namespace verbena::scenarios {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned kVariateBits = 20;
constexpr unsigned kLogBits = 24;
constexpr std::uint64_t kIntervalMax = std::uint64_t{1} << 56;

/// log2 of the value, not 0, as parts of 2^24: the exponent, then one squaring for each digit behind the point.
std::uint64_t log2_of(std::uint64_t value) {
  constexpr std::uint64_t kTwo = std::uint64_t{1} << 32;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  std::uint64_t mantissa = exponent >= 31 ? value >> (exponent - 31) : value << (31 - exponent);  // [1, 2) at 31 bits
  std::uint64_t log = exponent;
  for (unsigned digit = 0; digit < kLogBits; ++digit) {
    mantissa = mantissa * mantissa >> 31;
    const bool is_two = mantissa >= kTwo;
    if (is_two) mantissa >>= 1;
    log = log << 1 | static_cast<std::uint64_t>(is_two);
  }
  return log;
}

}  // namespace

std::uint64_t exponential(std::uint64_t draw) {
  constexpr std::uint64_t kLn2 = 186'065'279;  // at 28 bits
  const std::uint64_t log = (std::uint64_t{64} << kLogBits) - log2_of(std::max<std::uint64_t>(draw, 1));
  return static_cast<std::uint64_t>(Wide{log} * kLn2 >> (kLogBits + 28 - kVariateBits));
}

std::uint64_t mean_size(std::span<const SizeChoice> sizes) {
  Wide sum = 0;
  std::uint64_t weights = 0;
  for (const SizeChoice& choice : sizes) {
    sum += Wide{choice.weight} * (std::uint64_t{choice.least} + choice.most);
    weights += choice.weight;
  }
  return weights == 0 ? 0 : static_cast<std::uint64_t>((sum << 7) / weights);
}

Arrivals::Arrivals(const Load& load, std::uint64_t seed, Time begin) : dice_(seed), begin_(begin) {
  constexpr std::uint64_t kNsBits = 8'000'000'000;  // ns a second, bits an octet
  constexpr std::uint64_t kWhole = 1'000'000'000;
  const Wide interval =
      (Wide{load.mean_size} * kNsBits * kWhole << 8) / (Wide{load.rate_bits_per_second} * load.load_ppb);
  interval_ = static_cast<std::uint64_t>(std::min<Wide>(interval, kIntervalMax));
  advance();
}

void Arrivals::advance() {
  elapsed_ += static_cast<std::uint64_t>(Wide{interval_} * exponential(dice_.next()) >> kVariateBits);
}

}  // namespace verbena::scenarios
