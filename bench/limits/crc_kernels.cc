// What the CRC-32 of the wire library takes, by kernel: each that this processor can run, in turns.
//
// Solely responsible for the table: nanoseconds and GB/s by size, the kernel in use first. Each call goes on from the
// outcome of the one before, as a packet's verdict has to wait for its CRC; `L2` walks through more than a first-level
// cache holds.
// Usage: crc_kernels
#include <span>
#include <string>
#include <vector>

#include "bench/limits/measure.h"
#include "wire/crc32.h"

namespace verbena::bench {
namespace {

// Headers from BTH on and 0, 64 octets, 1 and 4 KiB of payload, and round figures.
constexpr std::size_t kSizes[] = {12, 16, 28, 64, 92, 128, 256, 1024, 1024 + 28, 4096, 4096 + 58};
constexpr std::size_t kWalkBytes = 512 << 10;
constexpr std::size_t kRounds = 31;
constexpr std::size_t kOctetsARound = 400'000;

struct Place {
  const char* name;
  std::size_t walk_bytes;
};
constexpr Place kPlaces[] = {{"L1", 0}, {"L2", kWalkBytes}};

double nanoseconds(const wire::Crc32Kernel& kernel, std::span<const std::byte> data, std::size_t size,
                   std::size_t walk_bytes) {
  const std::size_t calls = kOctetsARound / (size + 100);
  std::uint32_t crc = 0;
  std::size_t at = 0;
  const Stopwatch watch;
  for (std::size_t call = 0; call < calls; ++call) {
    crc = kernel.update(crc, data.data() + at, size);
    at += size + 64;
    if (at + size > walk_bytes) at = 0;
  }
  const double taken = watch.seconds() * 1e9 / static_cast<double>(calls);
  volatile std::uint32_t wanted = crc;  // or the compiler may leave the calls out
  static_cast<void>(wanted);
  return taken;
}

void measure(const Place& place, std::span<const std::byte> data) {
  for (const std::size_t size : kSizes) {
    std::vector<std::vector<double>> taken(wire::crc32_kernels().size());
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t kernel = 0; kernel < taken.size(); ++kernel) {
        taken[kernel].push_back(nanoseconds(wire::crc32_kernels()[kernel], data, size, place.walk_bytes));
      }
    }
    for (std::size_t kernel = 0; kernel < taken.size(); ++kernel) {
      const double typical = median(taken[kernel]);
      std::printf("%-18s %s %5zu octets %8.1f ns %6.1f GB/s\n", wire::crc32_kernels()[kernel].name.data(), place.name,
                  size, typical, static_cast<double>(size) / typical);
    }
  }
}

}  // namespace
}  // namespace verbena::bench

int main() {
  using namespace verbena;
  bench::pin(bench::kCoreA);
  std::printf("in use: %s\n", std::string(wire::crc32_kernel_name()).c_str());
  const std::vector<std::byte> data(2 * bench::kWalkBytes, std::byte{0x5a});
  for (const bench::Place& place : bench::kPlaces) bench::measure(place, data);
}
