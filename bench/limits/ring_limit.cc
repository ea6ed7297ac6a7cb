// The limit of a shared-memory link on this machine: bytes that cross between two cores with two copies and nothing
// else.
//
// Solely responsible for three figures: bandwidth of a single-producer single-consumer ring of 4 KiB slots (the payload
// is copied in on one core and out on the other), its rate with 64-octet messages, and the one-way time of a cache
// line. Source and target are 64 KiB each and cache-hot, as those of perftest are. No headers, no CRC: it is a bound,
// not a model.
// Usage: ring_limit [bandwidth] [message_rate] [latency]
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "bench/limits/cache_line.h"
#include "bench/limits/measure.h"

namespace verbena::bench {
namespace {

constexpr std::size_t kSlotBytes = 4096;
// Two depths, of which the better one is the limit: a ring that fits into a core's cache, and one that outlasts the
// moments in which a virtual core does not run.
constexpr std::size_t kShallow = 64;
constexpr std::size_t kDeep = 4096;
constexpr std::size_t kRegionBytes = 65536;
constexpr std::size_t kPublishBatch = 16;  // small messages: indices cross once per batch

template <std::size_t slot_count>
struct Ring {
  Index head;
  Index tail;
  alignas(128) std::byte slots[slot_count][kSlotBytes];
};

template <std::size_t slot_count>
void consume(Ring<slot_count>& ring, std::size_t message_bytes, std::size_t messages) {
  pin(kCoreB);
  std::vector<std::byte> target(kRegionBytes);
  const std::size_t places = kRegionBytes / message_bytes;
  for (std::size_t taken = 0; taken < messages;) {
    const std::size_t ready = ring.head.value.load(std::memory_order_acquire);
    for (; taken != ready; ++taken) {
      std::memcpy(&target[taken % places * message_bytes], ring.slots[taken % slot_count], message_bytes);
    }
    ring.tail.value.store(taken, std::memory_order_release);
  }
}

template <std::size_t slot_count>
double messages_per_second_through(std::size_t message_bytes, std::size_t messages, std::size_t batch) {
  auto ring = std::make_unique<Ring<slot_count>>();
  const std::vector<std::byte> source(kRegionBytes, std::byte{1});
  const std::size_t places = kRegionBytes / message_bytes;
  std::thread consumer([&] { consume(*ring, message_bytes, messages); });
  pin(kCoreA);
  const Stopwatch watch;
  std::size_t free_until = slot_count;
  for (std::size_t made = 0; made < messages;) {
    while (made == free_until) free_until = ring->tail.value.load(std::memory_order_acquire) + slot_count;
    std::memcpy(ring->slots[made % slot_count], &source[made % places * message_bytes], message_bytes);
    ++made;
    if (made % batch == 0 || made == free_until || made == messages) {
      ring->head.value.store(made, std::memory_order_release);
    }
  }
  consumer.join();
  return static_cast<double>(messages) / watch.seconds();
}

double messages_per_second(std::size_t message_bytes, std::size_t messages, std::size_t batch) {
  return std::max(messages_per_second_through<kShallow>(message_bytes, messages, batch),
                  messages_per_second_through<kDeep>(message_bytes, messages, batch));
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena::bench;
  if (chosen(argc, argv, "bandwidth"))
    report("bandwidth_gbytes", messages_per_second(kSlotBytes, 1'000'000, 1) * kSlotBytes / 1e9);
  if (chosen(argc, argv, "message_rate"))
    report("message_rate_millions", messages_per_second(64, 20'000'000, kPublishBatch) / 1e6);
  if (chosen(argc, argv, "latency")) report("latency_microseconds", cache_line_one_way_nanoseconds(1'000'000) / 1e3);
}
