// CRC-32 for x86-64 processors with AVX2 and VPCLMULQDQ: four registers of two blocks each are folded side by side.
// Tested by: tests/wire/crc32_test.cc
#include "wire/crc32_fold.h"

#if defined(__x86_64__)

#define VERBENA_CRC32_WIDE_INLINE [[gnu::target("avx2,vpclmulqdq,pclmul"), gnu::always_inline]] inline

namespace verbena::wire::crc32_detail {
namespace {

/// Two neighbouring blocks, the one with the lower address in the lower half.
constexpr std::size_t kPairBytes = 2 * kBlockBytes;
/// What the loop takes in a step.
constexpr std::size_t kStepBlocks = 8;
constexpr std::size_t kStepBytes = kStepBlocks * kBlockBytes;
static_assert(2 * kStepBlocks - 1 == kDistanceMax);
/// Below this the halves of a register have too little to do: the fold of single blocks is as fast.
constexpr std::size_t kWideBytesMin = kStepBytes;

VERBENA_CRC32_WIDE_INLINE __m256i load_pair(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

VERBENA_CRC32_WIDE_INLINE __m256i multiply_pair(__m256i pair, __m256i by) {
  return _mm256_xor_si256(_mm256_clmulepi64_epi128(pair, by, 0x00), _mm256_clmulepi64_epi128(pair, by, 0x11));
}

/// The lower block to the given distance, the upper one to one less.
VERBENA_CRC32_WIDE_INLINE __m256i fold_pair(__m256i pair, std::size_t distance) {
  return multiply_pair(pair, load_pair(multipliers(distance)));
}

VERBENA_CRC32_WIDE_INLINE __m128i sum_of_halves(__m256i pair) {
  return _mm_xor_si128(_mm256_castsi256_si128(pair), _mm256_extracti128_si256(pair, 1));
}

struct Step {
  __m256i a, b, c, d;
};

VERBENA_CRC32_WIDE_INLINE Step load_step(const std::byte* from) {
  return {load_pair(from), load_pair(from + kPairBytes), load_pair(from + 2 * kPairBytes),
          load_pair(from + 3 * kPairBytes)};
}

VERBENA_CRC32_WIDE_INLINE Step fold_into_next(const Step& step, __m256i by, const std::byte* next) {
  return {_mm256_xor_si256(multiply_pair(step.a, by), load_pair(next)),
          _mm256_xor_si256(multiply_pair(step.b, by), load_pair(next + kPairBytes)),
          _mm256_xor_si256(multiply_pair(step.c, by), load_pair(next + 2 * kPairBytes)),
          _mm256_xor_si256(multiply_pair(step.d, by), load_pair(next + 3 * kPairBytes))};
}

/// Everything added up in the last block: `step`, whose last block stands `after` blocks before the end, and those
/// blocks, fewer than a step, at `from`.
VERBENA_CRC32_WIDE_INLINE __m128i close(const Step& step, const std::byte* from, std::size_t after) {
  if (after == 0) {
    const __m256i pairs =
        _mm256_xor_si256(_mm256_xor_si256(fold_pair(step.a, 7), fold_pair(step.b, 5)), fold_pair(step.c, 3));
    const __m128i last_two =
        _mm_xor_si128(fold(_mm256_castsi256_si128(step.d), 1), _mm256_extracti128_si256(step.d, 1));
    return _mm_xor_si128(sum_of_halves(pairs), last_two);
  }
  __m256i pairs = _mm256_xor_si256(_mm256_xor_si256(fold_pair(step.a, after + 7), fold_pair(step.b, after + 5)),
                                   _mm256_xor_si256(fold_pair(step.c, after + 3), fold_pair(step.d, after + 1)));
  std::size_t distance = after - 1;
  for (; distance >= 2; distance -= 2) {
    pairs = _mm256_xor_si256(pairs, fold_pair(load_pair(from), distance));
    from += kPairBytes;
  }
  __m128i sum = sum_of_halves(pairs);
  if (distance == 1) {
    sum = _mm_xor_si128(sum, fold(load_block(from), 1));
    from += kBlockBytes;
  }
  return _mm_xor_si128(sum, load_block(from));
}

/// At least a step of whole blocks.
VERBENA_CRC32_WIDE_INLINE std::uint32_t fold_long(std::uint32_t state, const std::byte* from, std::size_t size) {
  const Opening opening = open(state, from, size % kBlockBytes);
  from += size % kBlockBytes;
  std::size_t blocks = size / kBlockBytes;
  Step step = load_step(from);
  step.a = _mm256_inserti128_si256(step.a, opening.whole, 0);
  from += kStepBytes;
  blocks -= kStepBlocks;
  // The octets in front, folded to the end, or if that is too far to the first block of the next step, so that nothing
  // waits for them.
  const bool has_next = blocks >= kStepBlocks;
  __m128i partial = fold(opening.partial, has_next ? kStepBlocks + 1 : blocks + kStepBlocks);
  if (has_next) {
    const __m256i by = _mm256_broadcastsi128_si256(load_block(multipliers(kStepBlocks)));
    step = fold_into_next(step, by, from);
    step.a = _mm256_xor_si256(step.a, _mm256_zextsi128_si256(partial));
    partial = _mm_setzero_si128();
    from += kStepBytes;
    blocks -= kStepBlocks;
    for (; blocks >= kStepBlocks; blocks -= kStepBlocks) {
      step = fold_into_next(step, by, from);
      from += kStepBytes;
    }
  }
  return reduce(_mm_xor_si128(close(step, from, blocks), partial));
}

#if defined(VERBENA_HAS_ISAL)
/// ISA-L 2.30 returns with the upper halves of AVX-512's registers in use, and from then on every instruction of the
/// SSE kind in this thread, the application's too, has to keep them: a packet of 1 KiB took three times as long.
/// By itself, so that short messages have no registers to save.
[[gnu::target("avx"), gnu::noinline]] std::uint32_t isal_with_registers_freed(std::uint32_t crc, const std::byte* from,
                                                                              std::size_t size) {
  const std::uint32_t updated = update_isal(crc, from, size);
  _mm256_zeroupper();
  return updated;
}
#endif

}  // namespace

[[gnu::target("avx2,vpclmulqdq,pclmul")]] std::uint32_t update_vpclmulqdq(std::uint32_t crc, const std::byte* from,
                                                                          std::size_t size) {
  if (size < kWideBytesMin) return update_short(crc, from, size);
  const std::uint32_t updated = ~fold_long(~crc, from, size);
  _mm256_zeroupper();  // g++ sees to it only from -O2 on
  return updated;
}

#if defined(VERBENA_HAS_ISAL)
[[gnu::target("avx2,vpclmulqdq,pclmul")]] std::uint32_t update_vpclmulqdq_isal(std::uint32_t crc, const std::byte* from,
                                                                               std::size_t size) {
  if (size < kWideBytesMin) return update_short(crc, from, size);
  if (size < kShortBytesMax) return update_vpclmulqdq(crc, from, size);
  return isal_with_registers_freed(crc, from, size);
}
#endif

}  // namespace verbena::wire::crc32_detail

#endif
