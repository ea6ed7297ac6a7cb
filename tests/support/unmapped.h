/// Memory that goes away under the test, and stays away.
#pragma once

#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>

namespace verbena::test {

/// Pages of which the test unmaps a part. What mmap(2) chooses the place of may come to lie where a page has just been
/// unmapped: a thread's stack, the allocator of a sanitizer, the ring of a peer. These lie at 1 GiB, where the kernel
/// puts nothing by itself (it fills the address space of a position-independent program from the top), inside what
/// the address and thread sanitizers let a program use.
class PagesThatGo {
 public:
  static constexpr std::size_t kPage = 4096;

  /// `count` pages, readable and writable.
  explicit PagesThatGo(std::size_t count) : length_(count * kPage) {
    constexpr std::uintptr_t kFirst = 1ULL << 30;
    constexpr std::uintptr_t kLast = kFirst + (512ULL << 20);
    for (std::uintptr_t place = kFirst; place < kLast && base_ == nullptr; place += length_) {
      void* const got = mmap(reinterpret_cast<void*>(place),  // NOLINT(performance-no-int-to-ptr): a wish of mmap(2)
                             length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got != MAP_FAILED) base_ = static_cast<std::byte*>(got);
    }
    BOOST_REQUIRE(base_ != nullptr);
  }
  PagesThatGo(const PagesThatGo&) = delete;
  PagesThatGo& operator=(const PagesThatGo&) = delete;
  ~PagesThatGo() { munmap(base_, length_); }

  std::byte* page(std::size_t index) const { return base_ + index * kPage; }
  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(base_); }
  std::size_t length() const { return length_; }

  /// Unmaps from page `index` to the end.
  void unmap_from(std::size_t index) const { BOOST_REQUIRE(munmap(page(index), length_ - index * kPage) == 0); }

 private:
  std::byte* base_ = nullptr;
  std::size_t length_;
};

}  // namespace verbena::test
