// CRC-32 by folding, the parts that the kernels for x86-64 share. Only they include it.
//
// The method is that of V. Gopal, E. Ozturk et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel white paper, 2009: a block of 128 bits that stands d blocks before the end of the message can be
// replaced by its product with x^(128 d), taken modulo the polynomial, at the end. So all blocks are added up in the
// last one, and that is reduced to 32 bits at the end (the paper's Barrett reduction). What differs from the paper: few
// blocks are each folded to the end at once, by a table of distances, since a chain of folds would wait for every
// multiplication; and the octets that do not fill a block are taken first, not last, because zeros in front of a
// message change nothing.
//
// A product of two words of 64 bits has 127, so it reads as x times too much in a register of 128 bits of the reflected
// order (crc32_polynomial.h). That is why exponents below are smaller by 1 than one would expect.
// Tested by: tests/wire/crc32_test.cc
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/crc32_kernels.h"
#include "wire/crc32_polynomial.h"

// Functions of these become part of whatever kernel calls them, with its instruction set, which must hold theirs.
#define VERBENA_CRC32_INLINE [[gnu::target("avx,pclmul"), gnu::always_inline]] inline

namespace verbena::wire::crc32_detail {

inline constexpr std::size_t kBlockBytes = 16;
/// The farthest that a block can be folded, in blocks.
inline constexpr std::size_t kDistanceMax = 15;
/// Shorter messages can be folded by fold_short().
inline constexpr std::size_t kShortBytesMax = kBlockBytes * (kDistanceMax + 1);

/// What folds a block: the multiplier of its first half, the higher powers, and that of its second.
struct Multipliers {
  std::uint64_t first;
  std::uint64_t second;
};

/// The farthest distance first, so that two neighbouring blocks find theirs in the same order. Modulo the polynomial
/// they have 32 bits: the upper ones of a word.
inline constexpr auto kMultipliers = [] {
  std::array<Multipliers, kDistanceMax> table{};
  for (unsigned distance = 1; distance <= kDistanceMax; ++distance) {
    table[kDistanceMax - distance] = {std::uint64_t{crc32_power_of_x(128 * distance + 63)} << 32,
                                      std::uint64_t{crc32_power_of_x(128 * distance - 1)} << 32};
  }
  return table;
}();

inline const Multipliers* multipliers(std::size_t distance) {
  return kMultipliers.data() + (kDistanceMax - distance);
}

VERBENA_CRC32_INLINE __m128i load_block(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

VERBENA_CRC32_INLINE __m128i fold(__m128i block, std::size_t distance) {
  const __m128i by = load_block(multipliers(distance));
  return _mm_xor_si128(_mm_clmulepi64_si128(block, by, 0x00), _mm_clmulepi64_si128(block, by, 0x11));
}

/// The last block, to which all others are added, times x^32 modulo the polynomial.
VERBENA_CRC32_INLINE std::uint32_t reduce(__m128i block) {
  // The first half, times x^96, is brought below x^96, and so is the second by its place: the sum has 96 bits. They lie
  // in the upper 96 of the register: 64 whose quotient is to be found, and 32 that a remainder is added to.
  const __m128i x96 = _mm_set_epi64x(0, static_cast<long long>(crc32_power_of_x(95)));
  const __m128i sum = _mm_xor_si128(_mm_clmulepi64_si128(block, x96, 0x00), _mm_srli_si128(block, 8));
  // Barrett: of the product with x^95 / P only the upper 64 bits are the quotient, and of quotient times P only the 32
  // below those 64 matter. P has 33 bits.
  const __m128i barrett = _mm_set_epi64x(static_cast<long long>(std::uint64_t{kCrc32Polynomial} << 1 | 1),
                                         static_cast<long long>(crc32_quotient_of_x95()));
  const __m128i quotient = _mm_clmulepi64_si128(sum, barrett, 0x00);
  const __m128i product = _mm_clmulepi64_si128(quotient, barrett, 0x10);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, product), 2));
}

/// The octets that do not fill a block, at the end of a block of zeros, and the first whole block. The CRC so far is
/// added to the first four octets, wherever they lie.
struct Opening {
  __m128i partial;
  __m128i whole;
};

VERBENA_CRC32_INLINE Opening open(std::uint32_t state, const std::byte* from, std::size_t partial_bytes) {
  // Where a shuffle finds each octet of its outcome; 0x80: nowhere, a zero.
  alignas(16) static constexpr auto kPlaces = [] {
    std::array<std::uint8_t, 3 * kBlockBytes> places{};
    places.fill(0x80);
    for (std::uint8_t i = 0; i < kBlockBytes; ++i) places[kBlockBytes + i] = i;
    return places;
  }();
  const __m128i before = _mm_cvtsi32_si128(static_cast<int>(state));
  const __m128i to_the_end = load_block(kPlaces.data() + partial_bytes);
  const __m128i to_the_front = load_block(kPlaces.data() + kBlockBytes + partial_bytes);
  return {_mm_shuffle_epi8(_mm_xor_si128(load_block(from), before), to_the_end),
          _mm_xor_si128(load_block(from + partial_bytes), _mm_shuffle_epi8(before, to_the_front))};
}

/// `state` and the outcome are the CRC's complement. At least one block, less than kShortBytesMax.
VERBENA_CRC32_INLINE std::uint32_t fold_short(std::uint32_t state, const std::byte* from, std::size_t size) {
  const std::size_t blocks = size / kBlockBytes;
  const Opening opening = open(state, from, size % kBlockBytes);
  from += size % kBlockBytes;
  __m128i sum = fold(opening.partial, blocks);
  __m128i block = opening.whole;
  for (std::size_t distance = blocks - 1; distance > 0; --distance) {
    sum = _mm_xor_si128(sum, fold(block, distance));
    from += kBlockBytes;
    block = load_block(from);
  }
  return reduce(_mm_xor_si128(sum, block));
}

template <class Word>
inline Word load_word(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// The same for what is shorter than a block.
VERBENA_CRC32_INLINE std::uint32_t fold_partial(std::uint32_t state, const std::byte* from, std::size_t size) {
  using Wide = unsigned __int128;
  if (size == 0) return state;
  const unsigned unused_bits = static_cast<unsigned>(8 * (kBlockBytes - size));
  // The octets at the end of the block, by words that may overlap.
  Wide block = 0;
  if (size >= 8) {
    block = Wide{load_word<std::uint64_t>(from + size - 8)} << 64;
    block |= load_word<std::uint64_t>(from) << (unused_bits - 8) << 8;  // one shift of 64 is not defined
  } else if (size >= 4) {
    block = Wide{load_word<std::uint32_t>(from + size - 4)} << 96;
    block |= Wide{load_word<std::uint32_t>(from)} << unused_bits;
  } else {
    for (std::size_t i = 0; i < size; ++i) block = block >> 8 | Wide{std::to_integer<std::uint8_t>(from[i])} << 120;
  }
  block ^= Wide{state} << unused_bits;
  const std::uint32_t beyond = size < 4 ? state >> (8 * size) : 0;  // what met no octet only moves on
  return beyond ^ reduce(_mm_set_epi64x(static_cast<long long>(static_cast<std::uint64_t>(block >> 64)),
                                        static_cast<long long>(static_cast<std::uint64_t>(block))));
}

/// A message shorter than kShortBytesMax.
VERBENA_CRC32_INLINE std::uint32_t update_short(std::uint32_t crc, const std::byte* from, std::size_t size) {
  return ~(size < kBlockBytes ? fold_partial(~crc, from, size) : fold_short(~crc, from, size));
}

}  // namespace verbena::wire::crc32_detail

#endif
