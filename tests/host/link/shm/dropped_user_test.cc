// Programs that give up their user after they have opened their device, and strangers who say that they are such.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/host/os/same_user.h"
#include "tests/host/link/shm/shm_end.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

constexpr uid_t kNobody = 65534;
const wire::Qpn kAnyQpn{17};

/// As a daemon does. The end before it, so that its seat is its first user's.
struct Dropped {
  Dropped(std::uint8_t number, const std::string& fabric) : user(settle_own_user()), end(number, fabric) {
    BOOST_REQUIRE(setresuid(kNobody, kNobody, kNobody) == 0);
    BOOST_REQUIRE(has_dropped_user());
  }
  unsigned user;
  End end;
};

bool has(const End& end, const std::string& text) {
  return std::find(end.received.begin(), end.received.end(), text) != end.received.end();
}

/// Only root can be two users.
boost::test_tools::assertion_result is_root(boost::unit_test::test_unit_id) {
  return geteuid() == 0;
}
}  // namespace

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(is_root))
BOOST_AUTO_TEST_CASE(program_that_drops_its_user_keeps_peers_and_finds_new_ones) {
  const std::string fabric = fabric_name();
  End old(2, fabric);
  End called(3, fabric);
  Child program([&] {
    settle_own_user();
    End own(1, fabric);
    Child::tell();
    if (!own.wait([&] { return has(own, "before"); })) return 1;
    if (setresuid(kNobody, kNobody, kNobody) != 0) return 2;
    own.send(node(2), kAnyQpn, "kept");
    own.send(node(3), kAnyQpn, "calls");
    Child::tell();
    return own.wait([&] { return has(own, "is called"); }) ? 0 : 3;
  });
  char told = 0;
  BOOST_REQUIRE(program.wait_told(told));
  old.send(node(1), kAnyQpn, "before");
  BOOST_TEST(old.wait([&] {
    called.pass();
    return has(old, "kept") && has(called, "calls");
  }));
  BOOST_REQUIRE(program.wait_told(told));
  End later(4, fabric);
  later.send(node(1), kAnyQpn, "is called");
  BOOST_TEST(program.join() == 0);
}

BOOST_TEST_DECORATOR(*boost::unit_test::precondition(is_root))
BOOST_AUTO_TEST_CASE(two_that_have_given_up_their_user_find_each_other) {
  const std::string fabric = fabric_name();
  Child called([&] {
    Dropped own(2, fabric);
    Child::tell();
    return own.end.wait([&] { return has(own.end, "hello"); }) ? 0 : 1;
  });
  char told = 0;
  BOOST_REQUIRE(called.wait_told(told));
  Child caller([&] {
    Dropped own(1, fabric);
    own.end.send(node(2), kAnyQpn, "hello");
    own.end.wait([] { return false; });  // it answers for as long as it is wanted
    return 0;
  });
  BOOST_TEST(called.join() == 0);
}

/// It cannot hear what is asked at the seat that it says it has.
BOOST_TEST_DECORATOR(*boost::unit_test::precondition(is_root))
BOOST_AUTO_TEST_CASE(a_stranger_who_says_that_it_has_a_seat_of_ours_is_not_let_in) {
  const std::string fabric = fabric_name();
  End victim(1, fabric);
  End owner(5, fabric);
  const unsigned user = own_user();
  Child stranger([&] {
    if (setresuid(kNobody, kNobody, kNobody) != 0) return 1;
    settle_user(user);  // for the names
    const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!seat_address({fabric, node(1), 0}).connect(socket.get())) return 2;
    Bell bell;
    if (!bell.open()) return 3;
    const Descriptor ringer = bell.make_ringer();
    const Descriptor memory = make_sealed_memory("test", kChannelBytes);
    const Descriptor page = make_sealed_memory("test", kProcessPageBytes);
    const Descriptor wake = make_sealed_memory("test", kWakePageBytes);
    Greeting greeting;
    greeting.address = node(5).octets;
    if (!send_greeting(socket.get(), greeting, std::array{memory.get(), ringer.get(), page.get(), wake.get()}))
      return 4;
    Greeting guess = greeting;
    guess.kind = Greeting::kProof;
    for (guess.nonce = 0; guess.nonce < 50; ++guess.nonce)
      if (!send_greeting(socket.get(), guess)) break;
    Child::tell();
    std::array<char, 256> answer;
    return recv(socket.get(), answer.data(), answer.size(), 0) > 0 ? 5 : 0;  // until the victim has gone
  });
  char told = 0;
  BOOST_REQUIRE(stranger.wait_told(told));
  for (int i = 0; i < 200; ++i) {
    victim.pass();
    owner.pass();
  }
  owner.send(victim, "still there");
  BOOST_TEST(victim.wait([&] { return has(victim, "still there"); }));
  victim.link.reset();
  BOOST_TEST(stranger.join() == 0);
}
