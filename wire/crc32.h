// The CRC-32 of Ethernet (IEEE 802.3, reflected, 0xedb88320), computed by what this processor does best.
//
// Solely responsible for which code computes it: ISA-L's, or a kernel of our own where that is faster by measurement
// (decisions.md) or where there is no ISA-L. What is covered by a packet's ICRC is icrc.h's. The choice is made once,
// at the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace verbena::wire {

/// Goes on from `crc` (0: nothing before) over `size` octets, which may have any alignment.
std::uint32_t crc32(std::uint32_t crc, const std::byte* from, std::size_t size);

/// One way of computing it.
struct Crc32Kernel {
  std::string_view name;
  std::uint32_t (*update)(std::uint32_t crc, const std::byte* from, std::size_t size);
};

/// Those that this processor can run. The first is the one in use, the last is any processor's.
std::span<const Crc32Kernel> crc32_kernels();

/// The name of the one in use, for reports.
std::string_view crc32_kernel_name();

}  // namespace verbena::wire
