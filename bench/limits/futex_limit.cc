// The limit of a passive target on this machine: a thread that sleeps in the kernel on one core, woken by a futex from
// the other, stores a word that its waker sees.
//
// Solely responsible for `median_microseconds` (from before the system call to the word's arrival) and for the proof
// that the thread really slept, `sleeps_per_wake`.
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/limits/wake.h"

namespace verbena::bench {
namespace {

struct alignas(128) Word {
  std::atomic<std::uint32_t> value{0};
};

struct Words {
  Word wanted;
  Word landed;
};

void futex(Word& word, int operation, std::uint32_t value) {
  ::syscall(SYS_futex, &word.value, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

/// Returns how often the thread went to sleep.
long sleep_and_answer(Words& words, std::uint32_t last) {
  pin(kCoreA);
  for (std::uint32_t seen = 0; seen != last;) {
    futex(words.wanted, FUTEX_WAIT, seen);
    const std::uint32_t now = words.wanted.value.load(std::memory_order_acquire);
    if (now == seen) continue;
    seen = now;
    words.landed.value.store(seen, std::memory_order_release);
  }
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

double wake(Words& words, std::uint32_t turn) {
  const Stopwatch watch;
  words.wanted.value.store(turn, std::memory_order_release);
  futex(words.wanted, FUTEX_WAKE, 1);
  while (words.landed.value.load(std::memory_order_acquire) != turn) {
  }
  return watch.seconds();
}

}  // namespace
}  // namespace verbena::bench

int main() {
  using namespace verbena::bench;
  Words words;
  std::vector<double> times;
  long sleeps = 0;
  std::thread sleeper([&] { sleeps = sleep_and_answer(words, kWarmUpWakes + kWakes); });
  pin(kCoreB);
  for (std::uint32_t turn = 1; turn <= kWarmUpWakes + kWakes; ++turn) {
    spin_for(kGapSeconds);
    const double seconds = wake(words, turn);
    if (turn > kWarmUpWakes) times.push_back(seconds);
  }
  sleeper.join();
  report("median_microseconds", median(times) * 1e6);
  report("sleeps_per_wake", static_cast<double>(sleeps) / static_cast<double>(kWarmUpWakes + kWakes));
}
