// Arithmetic with polynomials over GF(2) modulo that of CRC-32, for constants that are made at compile time.
//
// In the reflected order of Ethernet the lowest bit is the highest power: bit k of a word of w bits is x^(w-1-k).
// Tested by: tests/wire/crc32_test.cc
#pragma once

#include <cstdint>

namespace verbena::wire {

/// The terms below x^32.
inline constexpr std::uint32_t kCrc32Polynomial = 0xedb88320;

constexpr std::uint32_t crc32_times_x(std::uint32_t value) {
  return (value & 1) != 0 ? (value >> 1 ^ kCrc32Polynomial) : value >> 1;
}

constexpr std::uint32_t crc32_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = crc32_times_x(b);
  }
  return product;
}

constexpr std::uint32_t crc32_power_of_x(unsigned exponent) {
  std::uint32_t power = 0x80000000;  // x^0
  for (unsigned i = 0; i < exponent; ++i) power = crc32_times_x(power);
  return power;
}
static_assert(crc32_power_of_x(32) == kCrc32Polynomial);
static_assert(crc32_multiply(crc32_power_of_x(40), crc32_power_of_x(55)) == crc32_power_of_x(95));

/// x^95 divided by the polynomial, without the remainder: a word of 64 bits.
constexpr std::uint64_t crc32_quotient_of_x95() {
  std::uint64_t quotient = 1;  // x^63 times the polynomial is taken off x^95 first
  std::uint32_t rest = kCrc32Polynomial;
  for (unsigned bit = 1; bit < 64; ++bit) {  // x^(63 - bit)
    if ((rest & 1) != 0) quotient |= std::uint64_t{1} << bit;
    rest = crc32_times_x(rest);
  }
  return quotient;
}

}  // namespace verbena::wire
