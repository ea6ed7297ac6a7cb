// CRC-32 for any processor, by tables: 16 octets a step, one table for each of them, so that the look-ups of a step do
// not wait for one another (M. Kounavis, F. Berry, "A Systematic Approach to Building High Performance Software-based
// CRC Generators", 2005).
// Tested by: tests/wire/crc32_test.cc
#include <array>
#include <bit>
#include <cstring>

#include "wire/crc32_kernels.h"
#include "wire/crc32_polynomial.h"

namespace verbena::wire::crc32_detail {
namespace {

constexpr std::size_t kStepBytes = 16;

/// kTables[n][octet]: what an octet with n more behind it in a step adds to the sum.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kStepBytes> tables{};
  for (std::uint32_t octet = 0; octet < 256; ++octet) {
    std::uint32_t sum = octet;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kCrc32Polynomial : 0);
    tables[0][octet] = sum;
  }
  for (std::size_t behind = 1; behind < kStepBytes; ++behind)
    for (std::size_t octet = 0; octet < 256; ++octet) {
      const std::uint32_t sum = tables[behind - 1][octet];
      tables[behind][octet] = (sum >> 8) ^ tables[0][sum & 0xff];
    }
  return tables;
}();

/// The octets of a word are taken from the lowest address on, whatever the processor's own order.
std::uint32_t load_little(const std::byte* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap32(word);
  return word;
}

std::uint32_t sum_of_word(std::uint32_t word, std::size_t behind) {
  return kTables[behind + 3][word & 0xff] ^ kTables[behind + 2][word >> 8 & 0xff] ^
         kTables[behind + 1][word >> 16 & 0xff] ^ kTables[behind][word >> 24];
}

}  // namespace

std::uint32_t update_table(std::uint32_t crc, const std::byte* from, std::size_t size) {
  std::uint32_t state = ~crc;
  for (; size >= kStepBytes; size -= kStepBytes, from += kStepBytes)
    state = sum_of_word(load_little(from) ^ state, 12) ^ sum_of_word(load_little(from + 4), 8) ^
            sum_of_word(load_little(from + 8), 4) ^ sum_of_word(load_little(from + 12), 0);
  for (; size > 0; --size, ++from)
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*from)) & 0xff];
  return ~state;
}

}  // namespace verbena::wire::crc32_detail
