// prefer_huge_pages: the heap of a process that simulates many NICs.
//
// Solely advice to the C library and the kernel about memory that is allocated from now on; nothing depends on it.
#pragma once

#include <cstddef>

namespace verbena::host {

inline constexpr std::size_t kSimulationHeapBytes = std::size_t{512} << 20;

/// Lets the next `bytes` of the heap come in pages of 2 MiB (madvise(2), MADV_HUGEPAGE), at most 1 GiB: the state of a
/// thousand NICs is reached with a fifth of the misses of the TLB. Address space is taken at once, memory as it is
/// used. False: the kernel has no such pages to give or the process may not take so much; everything works as before.
bool prefer_huge_pages(std::size_t bytes);

}  // namespace verbena::host
