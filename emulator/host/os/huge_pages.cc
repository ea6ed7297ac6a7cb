#include "emulator/host/os/huge_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace verbena::host {
namespace {

std::size_t free_octets_of_heap() {
#if __GLIBC_PREREQ(2, 33)
  return mallinfo2().fordblks;
#else
  return static_cast<unsigned>(mallinfo().fordblks);
#endif
}

}  // namespace

bool prefer_huge_pages(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  constexpr std::size_t kBytesMax = std::size_t{1} << 30;
  constexpr int kMapAbove = 32 << 20;  // what is larger gets a mapping of its own: mallopt's own maximum
  bytes = std::min(bytes, kBytesMax);
  // One request that the heap cannot hold makes it grow by `bytes` more than was asked; what is freed stays with it.
  const std::size_t request = std::max(free_octets_of_heap() + 1, std::size_t{128} << 10);
  if (mallopt(M_MMAP_THRESHOLD, kMapAbove) == 0 || mallopt(M_TRIM_THRESHOLD, static_cast<int>(kBytesMax)) == 0 ||
      mallopt(M_TOP_PAD, static_cast<int>(bytes)) == 0)
    return false;
  const void* const before = sbrk(0);
  const std::unique_ptr<void, void (*)(void*)> grown(std::malloc(request), std::free);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, 1 << 20);
  if (sbrk(0) == before) return false;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(before) + kHugePage - 1) / kHugePage * kHugePage;
  return begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE) == 0;
}

}  // namespace verbena::host
