// A seat against strangers whose descriptors linger.
#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/node/node_directory.h"
#include "tests/host/link/shm/shm_end.h"
#include "tests/host/os/linger_trap.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr int kCallers = 20;  // more than may be foreign at a time

/// Calls as somebody who has given up its user would: with a greeting that is as it should be, and nothing of the rest.
bool call(const AbstractName& seat, const Greeting& greeting, int lingering) {
  const std::array<int, 4> descriptors{lingering, lingering, lingering, lingering};
  for (int i = 0; i < kCallers; ++i) {
    Descriptor next(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    if (!seat.connect(next.get()) || !send_greeting(next.release(), greeting, descriptors)) return false;
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(strangers_who_call_a_seat_with_what_lingers_make_nobody_wait) {
  for (const bool is_old : {false, true}) {
    const OldKernel kernel(is_old);
    const AnotherUser we;
    // One for each round: what is closed aside may keep its name for a moment.
    const std::string fabric = fabric_name() + (is_old ? ".old" : ".new");
    auto victim = std::make_unique<End>(1, fabric);
    Greeting greeting;
    greeting.address = node(99).octets;
    for (const Greeting::Kind kind : {Greeting::kCall, Greeting::kAnswer, Greeting::kChallenge}) {
      greeting.kind = kind;
      const LingerTrap trap(
          [&, at = seat_address({fabric, node(1), 0})](int lingering) { return call(at, greeting, lingering); });
      BOOST_REQUIRE(trap.is_passed);
      BOOST_TEST(is_done_at_once([&] {
        for (int i = 0; i < 4; ++i) victim->pass();
      }));
    }
    const LingerTrap trap(
        [&, at = seat_address({fabric, node(1), 0})](int lingering) { return call(at, greeting, lingering); });
    BOOST_REQUIRE(trap.is_passed);
    BOOST_TEST(is_done_at_once([&] { victim.reset(); }));
  }
}
