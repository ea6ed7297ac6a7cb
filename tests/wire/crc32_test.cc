// Every kernel of the CRC-32 that this processor can run, against the definition, bit by bit, and where that would take
// too long against the kernel of tables.
#include "wire/crc32.h"

#include <algorithm>
#include <random>

#include "tests/wire/wire_support.h"

namespace verbena::wire::test {
namespace {

// A packet of 4 KiB with all headers that there are, and some more.
constexpr std::size_t kBytesMax = 4300;
constexpr std::size_t kAlignments = 64;

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  Bytes bytes(size);
  for (std::byte& octet : bytes) octet = static_cast<std::byte>(generator());
  return bytes;
}

std::uint32_t of_tables(std::uint32_t crc, std::span<const std::byte> bytes) {
  return crc32_kernels().back().update(crc, bytes.data(), bytes.size());
}

std::uint32_t of_definition(std::uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte octet : bytes) {
    crc ^= std::to_integer<std::uint32_t>(octet);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

std::uint32_t of(const Crc32Kernel& kernel, std::uint32_t crc, std::span<const std::byte> bytes) {
  return kernel.update(crc, bytes.data(), bytes.size());
}

#if defined(__x86_64__)
/// Whether bits 128 to 255 of all 16 registers are zeros, as the ABI's callers expect it. The test itself is compiled
/// without AVX, so nothing between a kernel's return and this changes them.
[[gnu::noinline, gnu::target("avx")]] bool upper_halves_are_free() {
  alignas(32) std::array<std::array<std::uint64_t, 4>, 16> registers{};
  asm volatile(
      "vmovdqa %%ymm0, 0(%0)\n vmovdqa %%ymm1, 32(%0)\n vmovdqa %%ymm2, 64(%0)\n vmovdqa %%ymm3, 96(%0)\n"
      "vmovdqa %%ymm4, 128(%0)\n vmovdqa %%ymm5, 160(%0)\n vmovdqa %%ymm6, 192(%0)\n vmovdqa %%ymm7, 224(%0)\n"
      "vmovdqa %%ymm8, 256(%0)\n vmovdqa %%ymm9, 288(%0)\n vmovdqa %%ymm10, 320(%0)\n vmovdqa %%ymm11, 352(%0)\n"
      "vmovdqa %%ymm12, 384(%0)\n vmovdqa %%ymm13, 416(%0)\n vmovdqa %%ymm14, 448(%0)\n vmovdqa %%ymm15, 480(%0)\n"
      "vzeroupper"
      :
      : "r"(registers.data())
      : "memory");
  return std::ranges::all_of(registers, [](const auto& words) { return (words[2] | words[3]) == 0; });
}
#endif

}  // namespace

BOOST_AUTO_TEST_CASE(the_check_value_of_the_standard) {
  const Bytes digits = bytes_of({'1', '2', '3', '4', '5', '6', '7', '8', '9'});
  BOOST_TEST(crc32(0, digits.data(), digits.size()) == 0xcbf43926);
  for (const Crc32Kernel& kernel : crc32_kernels()) BOOST_TEST(of(kernel, 0, digits) == 0xcbf43926, kernel.name);
}

BOOST_AUTO_TEST_CASE(kernel_in_use_is_the_first_and_the_generic_one_the_last) {
  BOOST_REQUIRE(!crc32_kernels().empty());
  BOOST_TEST(crc32_kernel_name() == crc32_kernels().front().name);
  BOOST_TEST(crc32_kernels().back().name == "table");
  BOOST_TEST_MESSAGE("in use: " << crc32_kernel_name() << ", of " << crc32_kernels().size());
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool folds_here = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx");
  const bool folds_pairs = folds_here && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  BOOST_TEST(crc32_kernels().size() >= (folds_pairs ? 3u : folds_here ? 2u : 1u));
#else
  BOOST_TEST(crc32_kernels().size() <= 2u);
#endif
}

BOOST_AUTO_TEST_CASE(every_length_at_every_alignment_gives_the_same) {
  const Bytes bytes = random_bytes(kBytesMax + 2 * kAlignments, 1);
  const std::size_t first = kAlignments - reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignments;
  std::uint32_t crc = 0x12345678;
  for (std::size_t size = 0; size <= kBytesMax; ++size) {
    for (std::size_t alignment = 0; alignment < kAlignments; ++alignment) {
      const std::span message = std::span(bytes).subspan(first + alignment, size);
      const std::uint32_t expected = of_tables(crc, message);
      for (const Crc32Kernel& kernel : crc32_kernels()) {
        if (of(kernel, crc, message) == expected) continue;
        BOOST_FAIL(kernel.name << ": " << size << " octets at alignment " << alignment << ", going on from " << crc);
      }
      crc = expected;  // whatever came before
    }
  }
}

BOOST_AUTO_TEST_CASE(every_length_gives_what_the_definition_gives) {
  const Bytes bytes = random_bytes(kBytesMax, 2);
  std::uint32_t expected = 0;  // grows octet by octet
  for (std::size_t size = 0; size <= kBytesMax; ++size) {
    if (size > 0) expected = of_definition(expected, std::span(bytes).subspan(size - 1, 1));
    for (const Crc32Kernel& kernel : crc32_kernels()) {
      BOOST_REQUIRE_MESSAGE(of(kernel, 0, first_of(bytes, size)) == expected, kernel.name << ": " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_octet_alone_counts_wherever_it_lies) {
  for (const std::size_t size :
       std::initializer_list<std::size_t>{1, 7, 16, 31, 92, 127, 128, 250, 256, 271, 300, 513}) {
    Bytes bytes(size);
    for (std::size_t at = 0; at < size; ++at) {
      bytes[at] = std::byte{0x80};
      const std::uint32_t expected = of_definition(0xffffffff, bytes);  // goes on from a state of zeros
      for (const Crc32Kernel& kernel : crc32_kernels()) {
        BOOST_REQUIRE_MESSAGE(of(kernel, 0xffffffff, bytes) == expected, kernel.name << ": " << at << " of " << size);
      }
      bytes[at] = std::byte{0};
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_in_pieces_has_the_crc_of_the_whole) {
  const Bytes bytes = random_bytes(kBytesMax, 3);
  const std::uint32_t whole = of_tables(0, bytes);
  std::mt19937 generator(4);
  for (const Crc32Kernel& kernel : crc32_kernels()) {
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      const std::uint32_t front = of(kernel, 0, first_of(bytes, cut));
      BOOST_REQUIRE_MESSAGE(of(kernel, front, std::span(bytes).subspan(cut)) == whole, kernel.name << ": " << cut);
    }
    for (int round = 0; round < 1000; ++round) {
      const std::size_t piece_max = 1 + generator() % 400;
      std::uint32_t crc = 0;
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t piece = std::min(generator() % (piece_max + 1), bytes.size() - at);
        crc = of(kernel, crc, std::span(bytes).subspan(at, piece));
        at += piece;
      }
      BOOST_REQUIRE_MESSAGE(crc == whole, kernel.name << ": pieces of up to " << piece_max);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_read_beside_the_message) {
  const Bytes bytes = random_bytes(kBytesMax, 5);
  const WalledBytes walled(bytes);
  for (std::size_t size = 0; size <= kBytesMax; ++size) {
    const std::span<std::byte> message = walled.last(size);
    const Bytes alone(message.begin(), message.end());  // AddressSanitizer watches both ends of this one
    const std::uint32_t expected = of_tables(0, alone);
    for (const Crc32Kernel& kernel : crc32_kernels()) {
      BOOST_REQUIRE(of(kernel, 0, message) == expected);
      BOOST_REQUIRE(of(kernel, 0, alone) == expected);
    }
  }
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(the_kernel_in_use_leaves_no_upper_half_of_a_register_in_use) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx")) return;
  const Bytes bytes = random_bytes(kBytesMax, 6);
  const auto update = crc32_kernels().front().update;
  for (std::size_t size = 0; size <= kBytesMax; ++size) {
    upper_halves_are_free();  // frees them
    update(0, bytes.data(), size);
    BOOST_REQUIRE_MESSAGE(upper_halves_are_free(), crc32_kernel_name() << ": " << size);
  }
}
#endif

}  // namespace verbena::wire::test
