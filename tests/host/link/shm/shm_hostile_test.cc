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

#include "emulator/host/os/bell.h"
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
        memory_(make_sealed_memory("test", kChannelBytes)),
        page_(make_sealed_memory("test", kProcessPageBytes)),
        wake_(make_sealed_memory("test", kWakePageBytes)) {
    BOOST_REQUIRE(bell_.open());
    ringer_ = bell_.make_ringer();
    const std::string fabric = fabric_name();
    BOOST_REQUIRE(seat_address({fabric, victim.address, victim.link->slot()}).connect(socket_.get()));
    greeting.address = node(99).octets;
  }
  bool greet(std::span<const int> descriptors) { return send_greeting(socket_.get(), greeting, descriptors); }
  bool greet_properly() { return greet(std::array{memory_.get(), ringer_.get(), page_.get(), wake_.get()}); }
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
  int doorbell() const { return ringer_.get(); }
  int page() const { return page_.get(); }
  int wake() const { return wake_.get(); }

  Greeting greeting;

 private:
  Descriptor socket_;
  Bell bell_;
  Descriptor ringer_;
  Descriptor memory_;
  Descriptor page_;
  Descriptor wake_;
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
  refused([](Greeting& greeting) { greeting.version = 1; });
  refused([](Greeting& greeting) { greeting.ring_bytes /= 2; });
  refused([](Greeting& greeting) { greeting.kind = Greeting::kAnswer; });
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
    const std::array<int, 4> descriptors = choose(stranger);
    BOOST_TEST(stranger.greet(descriptors));
    BOOST_TEST(stranger.is_hung_up_by(victim));
  };
  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(ftruncate(unsealed.get(), kChannelBytes) == 0);
  const Descriptor small = make_sealed_memory("test", kChannelBytes - 4096);
  refused([&](Stranger& s) { return std::array{unsealed.get(), s.doorbell(), s.page(), s.wake()}; });
  refused([&](Stranger& s) { return std::array{small.get(), s.doorbell(), s.page(), s.wake()}; });
  refused([&](Stranger& s) { return std::array{s.memory(), s.doorbell(), unsealed.get(), s.wake()}; });
  refused([&](Stranger& s) { return std::array{s.memory(), s.doorbell(), s.page(), unsealed.get()}; });
  refused([&](Stranger& s) { return std::array{s.doorbell(), s.doorbell(), s.doorbell(), s.doorbell()}; });
  check_alive(victim);
}

/// Whoever gives one away can make each of these block, or end, who writes to it.
BOOST_AUTO_TEST_CASE(only_what_can_be_rung_without_harm_is_taken_for_a_bell) {
  End victim(1);
  const auto refused = [&](const Descriptor& bell) {
    BOOST_REQUIRE(static_cast<bool>(bell));
    Stranger stranger(victim);
    BOOST_TEST(stranger.greet(std::array{stranger.memory(), bell.get(), stranger.page(), stranger.wake()}));
    BOOST_TEST(stranger.is_hung_up_by(victim));
  };
  int pipe[2];
  BOOST_REQUIRE(::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) == 0);
  const Descriptor reading_end(pipe[0]);
  refused(Descriptor(pipe[1]));
  refused(Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  refused(Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  refused(Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  check_alive(victim);
}

/// What a victim shows of itself to whoever attaches to it.
struct Shown {
  explicit Shown(const Stranger& caller) {
    Greeting answer;
    got = receive_with_descriptors(caller.socket(), std::as_writable_bytes(std::span(&answer, 1)));
  }
  int bell() const { return got.descriptors[0].get(); }
  int page() const { return got.descriptors[1].get(); }
  int wake() const { return got.descriptors[2].get(); }
  MessageWithDescriptors got;
};

BOOST_AUTO_TEST_CASE(what_a_process_tells_its_peers_cannot_be_changed_by_them) {
  End victim(1);
  Stranger stranger(victim);
  BOOST_REQUIRE(stranger.greet_properly());
  BOOST_REQUIRE(victim.wait([&] {
    pollfd answer{stranger.socket(), POLLIN, 0};
    return poll(&answer, 1, 0) == 1;
  }));
  const Shown shown(stranger);
  BOOST_REQUIRE(shown.got.descriptor_count == 3u);
  BOOST_TEST(mmap(nullptr, kProcessPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, shown.page(), 0) == MAP_FAILED);
  void* const page = mmap(nullptr, kProcessPageBytes, PROT_READ, MAP_SHARED, shown.page(), 0);
  BOOST_REQUIRE(page != MAP_FAILED);
  BOOST_TEST(mprotect(page, kProcessPageBytes, PROT_READ | PROT_WRITE) == -1);
  munmap(page, kProcessPageBytes);
  BOOST_TEST(pwrite(shown.page(), "", 1, 0) == -1);
  BOOST_TEST(ftruncate(shown.page(), 0) == -1);
  BOOST_TEST(fallocate(shown.page(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kProcessPageBytes) == -1);
}

/// It does to the bell and to the wake page whatever it can; another peer's frames still wake the sleeper.
BOOST_AUTO_TEST_CASE(a_peer_cannot_keep_others_from_waking_a_sleeper) {
  End victim(1);
  Stranger stranger(victim);
  BOOST_REQUIRE(stranger.greet_properly());
  BOOST_REQUIRE(victim.wait([&] {
    pollfd answer{stranger.socket(), POLLIN, 0};
    return poll(&answer, 1, 0) == 1;
  }));
  const Shown shown(stranger);
  BOOST_REQUIRE(shown.got.descriptor_count == 3u);
  End other(2);
  BOOST_REQUIRE(other.send(victim, "first"));
  BOOST_REQUIRE(victim.wait_for(1));
  other.pass();

  victim.link->acknowledge_doorbell();
  BOOST_REQUIRE(victim.link->arm());
  SharedMapping wake = SharedMapping::map(shown.wake(), kWakePageBytes);
  BOOST_REQUIRE(static_cast<bool>(wake));
  std::memset(wake.base(), 0xff, kWakePageBytes);
  fcntl(shown.bell(), F_SETFL, 0);
  ::shutdown(shown.bell(), SHUT_RDWR);
  BOOST_REQUIRE(other.send(victim, "second"));
  pollfd bell{victim.link->wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(poll(&bell, 1, static_cast<int>(kPatience.ns / 1'000'000)) == 1);
  BOOST_TEST(victim.wait_for(2));
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
