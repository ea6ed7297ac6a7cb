// The shared-memory ring alone: order, wrap, back pressure, batches, hostile ends.
#include "emulator/host/link/shm/shm_ring.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace {
using namespace verbena::host;
namespace wire = verbena::wire;

struct Fixture {
  Fixture() {
    std::memset(static_cast<void*>(data.get()), 0, kRingBytes);
    const RingMemory memory{data.get(), &consumed};
    writer = RingWriter(memory);
    reader = RingReader(memory);
  }
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  bool send(std::size_t bytes, std::uint8_t mark) {
    const std::span<std::byte> room = writer.reserve(bytes);
    if (room.empty()) return false;
    std::memset(room.data(), mark, bytes);
    writer.commit(bytes);
    return true;
  }
  std::vector<std::size_t> take(std::size_t budget = 1 << 20) {
    std::vector<std::size_t> sizes;
    reader.read(budget, [&](std::span<const std::byte> frame, wire::IcrcState) {
      sizes.push_back(frame.size());
      return true;
    });
    return sizes;
  }
  std::unique_ptr<std::byte[], Free> data{static_cast<std::byte*>(::operator new[](kRingBytes, std::align_val_t{64}))};
  alignas(64) std::uint64_t consumed = 0;
  RingWriter writer;
  RingReader reader;
};

/// Drawing each octet anew would be most of a test's time.
template <class Draw>
std::vector<std::uint64_t> pool_of(std::size_t words, Draw&& draw) {
  std::vector<std::uint64_t> pool(words);
  for (std::uint64_t& word : pool) word = draw();
  return pool;
}
}  // namespace

BOOST_FIXTURE_TEST_SUITE(ring, Fixture)

BOOST_AUTO_TEST_CASE(frames_are_invisible_until_published_and_then_all_at_once) {
  BOOST_TEST(send(100, 1));
  BOOST_TEST(send(200, 2));
  BOOST_TEST(take().empty());
  BOOST_TEST(!reader.waiting());
  BOOST_TEST(writer.publish(false));
  BOOST_TEST(reader.waiting());
  BOOST_TEST((take() == std::vector<std::size_t>{100, 200}));
  BOOST_TEST(!reader.waiting());
  BOOST_TEST(!writer.publish(true));
}

BOOST_AUTO_TEST_CASE(there_is_as_much_room_after_a_rewind_as_was_asked_for) {
  const std::size_t record = ring_record_bytes(1000);
  const std::size_t asked = 100 * record;
  writer.set_rewind_room(asked);
  for (std::size_t sent = 0; writer.position() < kRingBytes; ++sent) {
    BOOST_TEST_REQUIRE(sent <= 100u);
    BOOST_TEST_REQUIRE(send(1000, 1));
    writer.publish(false);
    take();
    writer.read_tail();
    BOOST_TEST(writer.used_bytes() == 0u);
    writer.rewind();
  }
  BOOST_TEST(writer.used_bytes() <= kRingBytes - asked);
  BOOST_TEST(writer.used_bytes() > kRingBytes - asked - record);
}

BOOST_AUTO_TEST_CASE(rewind_leaves_room_for_frames_to_wake_a_sleeping_consumer) {
  std::size_t rewound = 0;
  for (std::size_t frames = 1; frames <= 100; ++frames) {
    for (std::size_t i = 0; i < frames; ++i) BOOST_TEST_REQUIRE(send(wire::kFrameBytesMax, 1));
    writer.publish(false);
    BOOST_TEST_REQUIRE(take().size() == frames);
    writer.read_tail();
    writer.rewind();
    rewound += writer.position() % kRingBytes == 0 ? 1u : 0u;
    // It has not looked since.
    BOOST_TEST_REQUIRE(send(wire::kFrameBytesMax, 2));
    BOOST_TEST_REQUIRE(send(wire::kFrameBytesMax, 3));
    writer.publish(false);
    BOOST_TEST_REQUIRE(take().size() == 2u);
    writer.read_tail();
  }
  BOOST_TEST(rewound > 50u);
}

BOOST_AUTO_TEST_CASE(any_sizes_keep_order_and_bytes_over_many_wraps) {
  std::mt19937 random(7);
  const auto pool = pool_of(1 << 14, std::mt19937_64(7));
  const auto octets = std::as_bytes(std::span(pool));
  std::vector<std::vector<std::byte>> expected;
  std::size_t next = 0;
  std::uint64_t total = 0;
  while (total < 40 * kRingBytes) {
    const std::size_t bytes = random() % wire::kFrameBytesMax + 1;
    const std::span<std::byte> room = writer.reserve(bytes);
    if (!room.empty()) {
      BOOST_REQUIRE(room.size() == bytes);
      const auto content = octets.subspan(random() % (octets.size() - bytes), bytes);
      std::vector<std::byte> frame(content.begin(), content.end());
      const std::size_t kept = random() % 8 == 0 ? random() % bytes + 1 : bytes;  // a commit may be shorter
      frame.resize(kept);
      std::memcpy(room.data(), frame.data(), kept);
      if (random() % 16 == 0) continue;  // cancelled: the room is handed out again
      writer.commit(kept);
      expected.push_back(std::move(frame));
      total += bytes;
    }
    if (random() % 4 == 0 || room.empty()) writer.publish(random() % 2 == 0);
    if (random() % 8 == 0 || room.empty()) {
      reader.read(random() % 50 + 1, [&](std::span<const std::byte> frame, wire::IcrcState) {
        BOOST_REQUIRE(next < expected.size());
        BOOST_REQUIRE(frame.size() == expected[next].size());
        BOOST_REQUIRE(std::memcmp(frame.data(), expected[next].data(), frame.size()) == 0);
        expected[next++].clear();
        return true;
      });
    }
  }
  writer.publish(false);
  next += take().size();
  BOOST_TEST(next == expected.size());
}

BOOST_AUTO_TEST_CASE(a_full_ring_gives_no_room_until_the_consumer_has_let_go) {
  std::size_t sent = 0;
  while (send(wire::kFrameBytesMax, 3)) ++sent;
  BOOST_TEST(sent >= kRingBytes / ring_record_bytes(wire::kFrameBytesMax) - 2);
  BOOST_TEST(sent <= kRingBytes / ring_record_bytes(wire::kFrameBytesMax));
  writer.publish(false);
  BOOST_TEST(!send(wire::kFrameBytesMax, 3));
  BOOST_TEST(!writer.drained());
  BOOST_TEST(take().size() == sent);
  BOOST_TEST(send(wire::kFrameBytesMax, 3));
  writer.publish(false);
  BOOST_TEST(take().size() == 1U);
  writer.read_tail();
  BOOST_TEST(writer.drained());
}

BOOST_AUTO_TEST_CASE(two_threads_exchange_many_frames_without_loss) {
  constexpr std::uint32_t kFrames = 300'000;
  std::thread producer([&] {
    for (std::uint32_t i = 0; i < kFrames;) {
      const std::size_t bytes = 8 + i % 600;
      const std::span<std::byte> room = writer.reserve(bytes);
      if (room.empty()) {
        writer.publish(false);
        std::this_thread::yield();
        continue;
      }
      std::memcpy(room.data(), &i, sizeof i);
      std::memcpy(room.data() + bytes - sizeof i, &i, sizeof i);
      writer.commit(bytes);
      if (++i % 5 == 0) writer.publish(i % 3 == 0);
    }
    writer.publish(true);
  });
  std::uint32_t expected = 0;
  std::uint32_t wrong = 0;
  while (expected < kFrames) {
    const std::size_t got = reader.read(64, [&](std::span<const std::byte> frame, wire::IcrcState) {
      std::uint32_t head = 0;
      std::uint32_t tail = 0;
      std::memcpy(&head, frame.data(), sizeof head);
      std::memcpy(&tail, frame.data() + frame.size() - sizeof tail, sizeof tail);
      wrong += head != expected || tail != expected || frame.size() != 8 + expected % 600;
      ++expected;
      return true;
    });
    if (got == 0) std::this_thread::yield();
  }
  producer.join();
  BOOST_TEST(wrong == 0U);
}

BOOST_AUTO_TEST_CASE(impossible_lengths_break_the_reader_and_are_never_followed) {
  const RingWord lies[] = {wire::kFrameBytesMax + 1,
                           kRingIcrcDeferred - 1,
                           kRingIcrcDeferred,
                           kRingIcrcDeferred | (wire::kFrameBytesMax + 1),
                           kRingSkip - 1,
                           kRingSkip};
  for (const RingWord lie : lies) {
    std::memset(static_cast<void*>(data.get()), 0, kRingBytes);
    RingReader victim(RingMemory{data.get(), &consumed});
    ring_word(data.get(), 0).store(lie);
    std::size_t frames = 0;
    victim.read(100, [&](std::span<const std::byte>, wire::IcrcState) { return ++frames != 0; });
    BOOST_TEST(frames == 0U);
    BOOST_TEST(victim.broken());  // a skip at the start, too: it leads nowhere
    BOOST_TEST(!victim.waiting());
  }
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_frames_icrc_goes_with_it) {
  const std::vector<wire::IcrcState> told{wire::IcrcState::deferred, wire::IcrcState::present,
                                          wire::IcrcState::deferred};
  for (const wire::IcrcState icrc : told) {
    BOOST_REQUIRE(!writer.reserve(62).empty());
    writer.commit(62, icrc);
  }
  writer.publish(false);
  std::vector<wire::IcrcState> heard;
  reader.read(100, [&](std::span<const std::byte> frame, wire::IcrcState icrc) {
    BOOST_TEST(frame.size() == 62U);
    heard.push_back(icrc);
    return true;
  });
  BOOST_TEST((heard == told));
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_is_one_cache_line) {
  constexpr std::size_t kAcknowledgeBytes = 14 + 20 + 8 + 12 + 4 + 4;  // Ethernet, IPv4, UDP, BTH, AETH, ICRC
  BOOST_REQUIRE(send(kAcknowledgeBytes, 1));
  writer.publish(false);
  BOOST_REQUIRE(take().size() == 1U);
  BOOST_TEST(reader.position() == 64U);
}

BOOST_AUTO_TEST_CASE(a_frame_may_not_reach_over_the_end_of_the_ring) {
  // Frames up to shortly before the end, then a length that would fit a frame but not the ring.
  const std::size_t record = ring_record_bytes(wire::kFrameBytesMax);
  while (kRingBytes - (reader.position() & (kRingBytes - 1)) >= record) {
    BOOST_REQUIRE(send(wire::kFrameBytesMax, 1));
    writer.publish(false);
    BOOST_REQUIRE(take().size() == 1U);
  }
  ring_word(data.get(), reader.position()).store(wire::kFrameBytesMax);
  BOOST_TEST(take().empty());
  BOOST_TEST(reader.broken());
}

BOOST_AUTO_TEST_CASE(a_ring_full_of_garbage_ends_after_bounded_work) {
  std::mt19937_64 random(11);
  constexpr std::size_t kWords = kRingBytes / sizeof(std::uint64_t);
  const auto garbage = pool_of(2 * kWords, [&] {
    const std::uint64_t pick = random();
    return pick % 3 == 0 ? kRingSkip : pick % 3 == 1 ? pick % 5000 : pick;
  });
  for (int round = 0; round < 200; ++round) {
    std::memcpy(data.get(), garbage.data() + random() % kWords, kRingBytes);
    RingReader victim(RingMemory{data.get(), &consumed});
    std::size_t frames = 0;
    const std::byte* end = data.get() + kRingBytes;
    victim.read(1000, [&](std::span<const std::byte> frame, wire::IcrcState) {
      BOOST_REQUIRE(frame.data() >= data.get());
      BOOST_REQUIRE(frame.data() + frame.size() <= end);
      ++frames;
      return true;
    });
    BOOST_TEST(frames <= 1000U);
  }
}

BOOST_AUTO_TEST_CASE(a_consumer_that_lies_about_its_position_gains_nothing) {
  BOOST_TEST(send(1000, 1));
  writer.publish(false);
  for (const std::uint64_t lie : {std::uint64_t{64} * 1000, ~std::uint64_t{0}, std::uint64_t{3}, kRingBytes * 2}) {
    consumed = lie;
    BOOST_TEST(writer.read_tail() == 0U);
    BOOST_TEST(!writer.drained());
  }
  std::size_t sent = 1;
  while (send(wire::kFrameBytesMax, 3)) ++sent;
  BOOST_TEST(sent <= kRingBytes / ring_record_bytes(wire::kFrameBytesMax) + 1);
}

BOOST_AUTO_TEST_SUITE_END()
