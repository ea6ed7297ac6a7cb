// may_access against mappings of every protection, for ranges that are populated and for those that are looked up.
#include "emulator/host/os/memory_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/unmapped.h"

using namespace verbena;

constexpr auto kRead = host::MemoryUse::read;
constexpr auto kWrite = host::MemoryUse::write;

namespace {

constexpr std::size_t kPage = test::PagesThatGo::kPage;
constexpr std::size_t kSizes[] = {2, 1024};  // pages: one range of each way

struct Mapped {
  Mapped(std::size_t pages, int protection, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1)
      : bytes(pages * kPage), place(mmap(nullptr, bytes, protection, flags, file, 0)) {
    BOOST_REQUIRE(place != MAP_FAILED);
  }
  ~Mapped() { munmap(place, bytes); }
  std::uintptr_t address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(place) + offset; }
  bool may(host::MemoryUse use) const { return host::may_access(address(), bytes, use); }
  std::size_t bytes;
  void* place;
};

/// A file without a name, of one page.
int one_page_file() {
  const int file = memfd_create("memory_access", MFD_CLOEXEC);
  BOOST_REQUIRE(file >= 0 && ftruncate(file, kPage) == 0);
  return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_may_be_used_as_its_protection_says) {
  for (const std::size_t pages : kSizes) {
    const Mapped both(pages, PROT_READ | PROT_WRITE), readable(pages, PROT_READ), none(pages, PROT_NONE);
    BOOST_TEST((both.may(kRead) && both.may(kWrite)));
    BOOST_TEST((readable.may(kRead) && !readable.may(kWrite)));
    BOOST_TEST((!none.may(kRead) && !none.may(kWrite)));
    const Mapped writable(pages, PROT_WRITE);
    BOOST_TEST(writable.may(kWrite));
  }
}

BOOST_AUTO_TEST_CASE(every_page_of_a_range_counts_and_nothing_around_it) {
  for (const std::size_t pages : kSizes) {
    const Mapped mapped(pages + 2, PROT_READ | PROT_WRITE);
    const auto may_write = [&](std::size_t from, std::size_t bytes) {
      return host::may_access(mapped.address(from), bytes, kWrite);
    };
    BOOST_REQUIRE(mprotect(mapped.place, kPage, PROT_NONE) == 0);
    const std::size_t last = (pages + 1) * kPage;
    BOOST_REQUIRE(mprotect(static_cast<char*>(mapped.place) + last, kPage, PROT_READ) == 0);
    BOOST_TEST(may_write(kPage, pages * kPage));
    BOOST_TEST(!may_write(kPage - 1, pages * kPage));
    BOOST_TEST(!may_write(kPage, pages * kPage + 1));
    BOOST_TEST(may_write(last, 0));
    // A line of /proc/self/maps for each page: what is allowed may consist of many mappings.
    for (std::size_t page = 1; page <= pages; page += 2)
      BOOST_REQUIRE(
          mprotect(static_cast<char*>(mapped.place) + page * kPage, kPage, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    BOOST_TEST(may_write(kPage, pages * kPage));
  }
}

BOOST_AUTO_TEST_CASE(a_hole_and_the_end_of_the_address_space_are_no_memory) {
  for (const std::size_t pages : kSizes) {
    const test::PagesThatGo going(pages + 1);
    BOOST_TEST(host::may_access(going.address(), going.length(), kRead));
    going.unmap_from(pages);
    BOOST_TEST(host::may_access(going.address(), pages * kPage, kRead));
    BOOST_TEST(!host::may_access(going.address(), pages * kPage + 1, kRead));
  }
  BOOST_TEST(!host::may_access(UINTPTR_MAX - kPage, 2 * kPage, kRead));
  BOOST_TEST(!host::may_access(0, kPage, kRead));
}

BOOST_AUTO_TEST_CASE(shared_file_mapping_keeps_its_rights_and_ends_with_its_file) {
  const int file = one_page_file();
  const Mapped shared(2, PROT_READ | PROT_WRITE, MAP_SHARED, file), fixed(1, PROT_READ, MAP_SHARED, file);
  BOOST_TEST(host::may_access(shared.address(), kPage, kWrite));
  BOOST_TEST((fixed.may(kRead) && !fixed.may(kWrite)));
  BOOST_TEST(!shared.may(kRead));  // SIGBUS behind the end
  close(file);
}

BOOST_AUTO_TEST_CASE(what_is_asked_about_keeps_its_octets) {
  const int file = one_page_file();
  BOOST_REQUIRE(pwrite(file, "octets", 6, 0) == 6);
  const Mapped copy(1, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
  BOOST_TEST(copy.may(kWrite));
  BOOST_TEST(std::string_view(static_cast<const char*>(copy.place), 6) == "octets");
  BOOST_REQUIRE(pwrite(file, "others", 6, 0) == 6);
  // Pinned for writing: the process has a page of its own by now.
  BOOST_TEST(std::string_view(static_cast<const char*>(copy.place), 6) == "octets");
  close(file);
}
