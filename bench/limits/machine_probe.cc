// What tells one machine from another, as far as Verbena's speed depends on it: the way between the two cores, the CRC
// and the copy.
//
// Solely responsible for these figures; what the kernel says of the machine is read by bench/machine.py, which prints
// both. The cores are looked at from three sides: the one-way time of a cache line; what a core reads in a line that
// the other has just written, beside one that only memory has (where they share a cache the first is nearer); and how
// much of its speed a core keeps while the other computes (less than all of it: two threads of one core).
// Usage: machine_probe
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/limits/cache_line.h"
#include "bench/limits/measure.h"
#include "wire/crc32.h"
#include "wire/icrc.h"

namespace verbena::bench {
namespace {

/// The compiler takes `value` for used, and for changed.
template <class Value>
void keep(Value& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

/// Typical nanoseconds of one call, by batches of so many.
template <class Call>
double nanoseconds_a_call(Call&& call) {
  constexpr std::size_t kCalls = 100'000;
  return nanoseconds_a_turn(kCalls, [&](std::size_t) { call(); });
}

double crc_nanoseconds(std::size_t bytes) {
  std::vector<std::byte> data(bytes, std::byte{0x5a});
  return nanoseconds_a_call([&] {
    wire::Icrc icrc;
    icrc.update(data.data(), data.size());
    std::uint32_t value = icrc.value();
    keep(value);
  });
}

double copy_nanoseconds(std::size_t bytes) {
  const std::vector<std::byte> source(bytes, std::byte{0x5a});
  std::vector<std::byte> target(bytes);
  std::byte* to = target.data();
  return nanoseconds_a_call([&] {
    std::memcpy(to, source.data(), bytes);
    keep(*to);
  });
}

// -- Two threads of one core ------------------------------------------------------------------------------------------

/// More than one thread can do of at a time, so that two of them on one core are in each other's way.
void compute(std::array<std::uint64_t, 8>& values) {
  constexpr int kSteps = 20'000;
  for (int step = 0; step < kSteps; ++step)
    for (std::uint64_t& value : values) value = value * 6364136223846793005u + 1442695040888963407u;
  keep(values);
}

/// The typical time of a piece of work, `pieces` of which are done.
double seconds_a_piece(int pieces) {
  std::array<std::uint64_t, 8> values{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> times;
  for (int piece = 0; piece < pieces; ++piece) {
    const Stopwatch watch;
    compute(values);
    times.push_back(watch.seconds());
  }
  return median(times);
}

/// 1: a core is as fast as alone while the other computes; about a half: both are threads of one core.
double speed_kept_beside_the_other() {
  constexpr int kPieces = 1'000;
  pin(kCoreA);
  seconds_a_piece(kPieces);
  const double alone = seconds_a_piece(kPieces);
  std::atomic<bool> stop{false};
  std::atomic<bool> runs{false};
  std::thread other([&] {
    pin(kCoreB);
    while (!stop.load(std::memory_order_relaxed)) {
      seconds_a_piece(1);
      runs.store(true, std::memory_order_relaxed);
    }
  });
  while (!runs.load(std::memory_order_relaxed)) {
  }
  const double beside = seconds_a_piece(kPieces);
  stop = true;
  other.join();
  return alone / beside;
}

// -- Whether they share a cache ---------------------------------------------------------------------------------------

constexpr std::size_t kChaseLines = 512;  // 64 KiB with the pairs of lines that are fetched together

/// Lines in a random order, each of which says which is the next.
class Chain {
 public:
  Chain() {
    std::vector<std::uint32_t> order(kChaseLines);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
    for (std::size_t at = 0; at < kChaseLines; ++at) next_[order[at]] = order[(at + 1) % kChaseLines];
  }
  void write() {
    for (std::size_t line = 0; line < kChaseLines; ++line) {
      lines_[line].value.store(next_[line], std::memory_order_relaxed);
    }
  }
  /// Leaves it to memory alone.
  void flush() {
    for (std::size_t line = 0; line < kChaseLines; ++line) flush_line(&lines_[line]);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  double nanoseconds_a_line() {
    std::size_t at = 0;
    const Stopwatch watch;
    for (std::size_t step = 0; step < kChaseLines; ++step) at = lines_[at].value.load(std::memory_order_relaxed);
    keep(at);
    return watch.seconds() * 1e9 / static_cast<double>(kChaseLines);
  }

 private:
  static void flush_line(const void* line) {
#if defined(__x86_64__)
    asm volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined(__aarch64__)
    asm volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
  }
  std::vector<std::uint32_t> next_ = std::vector<std::uint32_t>(kChaseLines);
  std::unique_ptr<Index[]> lines_ = std::make_unique<Index[]>(kChaseLines);
};

struct LineTimes {
  double from_other_core;
  double from_memory;
};

LineTimes line_times() {
  constexpr std::size_t kRounds = 200;
  Chain chain;
  Index written;
  Index read;
  std::thread other([&] {
    pin(kCoreB);
    for (std::size_t round = 1; round <= kRounds; ++round) {
      chain.write();
      written.value.store(round, std::memory_order_release);
      while (read.value.load(std::memory_order_acquire) != round) {
      }
    }
  });
  pin(kCoreA);
  std::vector<double> from_other_core;
  std::vector<double> from_memory;
  for (std::size_t round = 1; round <= kRounds; ++round) {
    while (written.value.load(std::memory_order_acquire) != round) {
    }
    from_other_core.push_back(chain.nanoseconds_a_line());
    chain.flush();
    from_memory.push_back(chain.nanoseconds_a_line());
    read.value.store(round, std::memory_order_release);
  }
  other.join();
  return {median(from_other_core), median(from_memory)};
}

void report_all() {
  const std::string_view kernel = wire::crc32_kernel_name();
  std::printf("crc_kernel %.*s\n", static_cast<int>(kernel.size()), kernel.data());
  pin(kCoreA);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1024}, std::size_t{4096}})
    report(("crc_" + std::to_string(bytes) + "_ns").c_str(), crc_nanoseconds(bytes));
  report("copy_4096_ns", copy_nanoseconds(4096));
  report("line_one_way_ns", cache_line_one_way_nanoseconds(300'000));
  const LineTimes times = line_times();
  report("line_from_other_core_ns", times.from_other_core);
  report("line_from_memory_ns", times.from_memory);
  report("speed_beside", speed_kept_beside_the_other());
}

}  // namespace
}  // namespace verbena::bench

int main() {
  verbena::bench::report_all();
}
