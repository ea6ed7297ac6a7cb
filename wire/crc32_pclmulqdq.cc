// CRC-32 for x86-64 processors with AVX and PCLMULQDQ: short messages folded here, long ones by ISA-L, whose loop folds
// as fast as these instructions allow, or where there is no ISA-L in short pieces.
// Tested by: tests/wire/crc32_test.cc
#include "wire/crc32_fold.h"

#if defined(__x86_64__)

namespace verbena::wire::crc32_detail {

[[gnu::target("avx,pclmul")]] std::uint32_t update_pclmulqdq(std::uint32_t crc, const std::byte* from,
                                                             std::size_t size) {
#if defined(VERBENA_HAS_ISAL)
  if (size >= kShortBytesMax) return update_isal(crc, from, size);
#else
  constexpr std::size_t kPieceBytes = kShortBytesMax - kBlockBytes;
  for (; size >= kShortBytesMax; size -= kPieceBytes, from += kPieceBytes) crc = update_short(crc, from, kPieceBytes);
#endif
  return update_short(crc, from, size);
}

}  // namespace verbena::wire::crc32_detail

#endif
