// What a process does with its frames while its fabric process does not take them.
#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_uplink.h"
#include "tests/host/fabric_process/port_and_uplink.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

bool try_send(ShmUplink& uplink) {
  const bool is_taken = commit(uplink, {.source = node(1), .destination = node(2), .payload_bytes = 1000});
  uplink.publish();
  return is_taken;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_wait_for_a_stopped_fabric_as_long_as_timers_do) {
  Pair pair;
  const Time begun = clock_now();
  while (try_send(*pair.uplink)) {
  }
  const Time full = clock_now();
  while (!try_send(*pair.uplink)) BOOST_REQUIRE(clock_now() - full < kRelayPatience * 4);
  BOOST_TEST((clock_now() - begun).ns >= kRelayPatience.ns);
  BOOST_TEST(pair.uplink->statistics().vanished_stalled == 1U);
  for (int i = 0; i < 64; ++i) pair.pass();
  BOOST_TEST(try_send(*pair.uplink));
  BOOST_TEST(pair.uplink->statistics().vanished_stalled == 1U);
}

BOOST_AUTO_TEST_CASE(frames_wait_for_a_fabric_that_nobody_looked_at_for_long) {
  Pair pair;
  while (try_send(*pair.uplink)) {
  }
  // As behind a class that is paused, or while the machine runs neither.
  let_time_pass(kRelayPatience + milliseconds(100));
  BOOST_TEST(!try_send(*pair.uplink));
  BOOST_TEST(pair.uplink->statistics().vanished_stalled == 0U);
}
