// The shared-memory link against peers that break the handshake or the ring.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/host/link/shm/shm_end.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

/// Calls a seat as a stranger would, with whatever greeting and descriptors.
class Stranger {
 public:
  explicit Stranger(const End& victim)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
        bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        memory_(make_sealed_memory("test", kChannelBytes)),
        page_(make_sealed_memory("test", kProcessPageBytes)) {
    const std::string fabric = fabric_name();
    BOOST_REQUIRE(seat_address({fabric, victim.address, victim.link->slot()}).connect(socket_.get()));
    greeting.address = node(99).octets;
  }
  bool greet(std::span<const int> descriptors) { return send_greeting(socket_.get(), greeting, descriptors); }
  bool greet_properly() { return greet(std::array{memory_.get(), bell_.get(), page_.get()}); }
  bool is_hung_up_by(End& victim) {
    return victim.wait([&] {
      std::array<char, 256> octets;
      return recv(socket_.get(), octets.data(), octets.size(), MSG_DONTWAIT) == 0;
    });
  }
  bool is_answered_by(End& victim) {
    return victim.wait([&] {
      std::array<char, 256> octets;
      return recv(socket_.get(), octets.data(), octets.size(), MSG_DONTWAIT) == sizeof(Greeting);
    });
  }
  int socket() const { return socket_.get(); }
  int memory() const { return memory_.get(); }
  int doorbell() const { return bell_.get(); }
  int page() const { return page_.get(); }

  Greeting greeting;

 private:
  Descriptor socket_;
  Descriptor bell_;
  Descriptor memory_;
  Descriptor page_;
};

/// The victim still serves others.
void check_alive(End& victim) {
  End other(98);
  other.send(victim, "still there");
  BOOST_TEST(victim.wait([&] { return !victim.received.empty() && victim.received.back() == "still there"; }));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(shm_hostile)

BOOST_AUTO_TEST_CASE(a_proper_greeting_is_answered) {
  End victim(1);
  Stranger stranger(victim);
  BOOST_TEST(stranger.greet_properly());
  BOOST_TEST(stranger.is_answered_by(victim));
}

BOOST_AUTO_TEST_CASE(wrong_greetings_are_hung_up_on) {
  End victim(1);
  const auto refused = [&](auto&& spoil) {
    Stranger stranger(victim);
    spoil(stranger.greeting);
    BOOST_TEST(stranger.greet_properly());
    BOOST_TEST(stranger.is_hung_up_by(victim));
  };
  refused([](Greeting& greeting) { greeting.magic ^= 1; });
  refused([](Greeting& greeting) { greeting.version = 2; });
  refused([](Greeting& greeting) { greeting.ring_bytes /= 2; });
  refused([](Greeting& greeting) { greeting.is_answer = 1; });
  refused([](Greeting& greeting) { greeting.slot = 255; });
  {
    Stranger stranger(victim);
    BOOST_TEST(send(stranger.socket(), "hello", 5, 0) == 5);
    BOOST_TEST(stranger.is_hung_up_by(victim));
  }
  check_alive(victim);
}

BOOST_AUTO_TEST_CASE(memory_that_could_make_us_fault_is_refused) {
  End victim(1);
  const auto refused = [&](auto&& choose) {
    Stranger stranger(victim);
    const std::array<int, 3> descriptors = choose(stranger);
    BOOST_TEST(stranger.greet(descriptors));
    BOOST_TEST(stranger.is_hung_up_by(victim));
  };
  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(ftruncate(unsealed.get(), kChannelBytes) == 0);
  const Descriptor small = make_sealed_memory("test", kChannelBytes - 4096);
  const Descriptor blocking_bell(eventfd(0, EFD_CLOEXEC));
  refused([&](Stranger& s) { return std::array{unsealed.get(), s.doorbell(), s.page()}; });
  refused([&](Stranger& s) { return std::array{small.get(), s.doorbell(), s.page()}; });
  refused([&](Stranger& s) { return std::array{s.memory(), s.doorbell(), unsealed.get()}; });
  refused([&](Stranger& s) { return std::array{s.memory(), blocking_bell.get(), s.page()}; });
  refused([&](Stranger& s) { return std::array{s.doorbell(), s.doorbell(), s.doorbell()}; });
  check_alive(victim);
}

BOOST_AUTO_TEST_CASE(no_descriptor_of_a_refused_greeting_stays_open) {
  End victim(1);
  check_alive(victim);
  BOOST_TEST(victim.wait([&] { return true; }));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    Stranger stranger(victim);
    stranger.greeting.magic = 0;
    stranger.greet_properly();
    BOOST_TEST(stranger.is_hung_up_by(victim));
  }
  for (int i = 0; i < 20; ++i) {
    Stranger stranger(victim);  // says nothing and goes
  }
  BOOST_TEST(victim.wait([&] { return open_descriptors() <= before; }));
}

BOOST_AUTO_TEST_CASE(silent_callers_do_not_keep_others_out) {
  End victim(1);
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(std::make_unique<Stranger>(victim));
  victim.pass();
  check_alive(victim);
  crowd.resize(30);
  check_alive(victim);
}

BOOST_AUTO_TEST_CASE(a_ring_of_garbage_ends_the_channel_and_nothing_else) {
  End victim(1);
  std::mt19937_64 random(5);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    Stranger stranger(victim);
    const SharedMapping mine = SharedMapping::map(stranger.memory(), kChannelBytes);
    BOOST_REQUIRE(static_cast<bool>(mine));
    // Garbage in the ring towards the victim, and in what the victim reads of its own ring.
    const RingMemory ring = ring_of_channel(mine.base(), 0);
    for (std::size_t at = 0; at < kRingBytes; at += 8) {
      const std::uint64_t word = random();
      std::memcpy(ring.data + at, &word, sizeof word);
    }
    *ring_of_channel(mine.base(), 1).consumed = random();
    BOOST_TEST(stranger.greet_properly());
    BOOST_TEST(victim.wait([&] { return victim.link->statistics().broken_channels == round; }));
    BOOST_TEST(stranger.is_hung_up_by(victim) == true);
  }
  check_alive(victim);
}

BOOST_AUTO_TEST_CASE(a_peer_that_lies_about_what_it_consumed_stalls_only_itself) {
  End victim(1);
  Stranger stranger(victim);
  const SharedMapping mine = SharedMapping::map(stranger.memory(), kChannelBytes);
  BOOST_REQUIRE(static_cast<bool>(mine));
  BOOST_TEST(stranger.greet_properly());
  BOOST_TEST(stranger.is_answered_by(victim));
  *ring_of_channel(mine.base(), 1).consumed = ~std::uint64_t{63};
  const std::string text(4000, 'x');
  const auto vanished = [&] { return victim.link->statistics().vanished_stalled; };
  // The ring is filled in one go: a thousand turns on a busy machine would be the longest part of it.
  BOOST_TEST(victim.wait([&] {
    while (vanished() == 0 && victim.try_send(node(99), wire::Qpn(17), text)) {
    }
    return vanished() > 0;
  }));
  check_alive(victim);
}

BOOST_AUTO_TEST_SUITE_END()
