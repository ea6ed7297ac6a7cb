// The heap of a simulation: what is allocated afterwards is what the kernel was advised about, or nothing was.
#include "emulator/host/os/huge_pages.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

using namespace verbena;

namespace {

/// Whether the mapping that has this place is marked for huge pages (proc(5), VmFlags: hg).
bool is_marked(const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-') is_here = begin <= address && address < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_allocated_afterwards_may_come_in_huge_pages) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const bool is_advised = host::prefer_huge_pages(kBytes);
  const auto piece =
      std::make_unique<std::byte[]>(kBytes / 4);  // beyond what was in the heap, and beyond its first page
  BOOST_TEST(is_marked(piece.get() + kBytes / 8) == is_advised);
  BOOST_TEST(!is_marked(&is_advised));  // the stack is left alone
}

BOOST_AUTO_TEST_CASE(asking_again_does_no_harm) {
  host::prefer_huge_pages(std::size_t{16} << 20);
  const auto piece = std::make_unique<std::byte[]>(std::size_t{4} << 20);
  BOOST_TEST(piece != nullptr);
}
