// The kernels of the CRC-32, each a function of its own file. Only crc32.cc chooses among them.
// Tested by: tests/wire/crc32_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::wire::crc32_detail {

/// Every processor's: without instructions that it might lack, and without ISA-L.
std::uint32_t update_table(std::uint32_t crc, const std::byte* from, std::size_t size);

#if defined(VERBENA_HAS_ISAL)
inline constexpr bool kHasIsal = true;
/// Every processor's, what ISA-L chooses.
std::uint32_t update_isal(std::uint32_t crc, const std::byte* from, std::size_t size);
#else
inline constexpr bool kHasIsal = false;
#endif

#if defined(__x86_64__)
/// For processors that have the instructions of their names.
std::uint32_t update_pclmulqdq(std::uint32_t crc, const std::byte* from, std::size_t size);
std::uint32_t update_vpclmulqdq(std::uint32_t crc, const std::byte* from, std::size_t size);
#if defined(VERBENA_HAS_ISAL)
/// For processors on which ISA-L takes AVX-512, which is faster once there is enough to do.
std::uint32_t update_vpclmulqdq_isal(std::uint32_t crc, const std::byte* from, std::size_t size);
#endif
#endif

}  // namespace verbena::wire::crc32_detail
