// A nap: no shorter than it is to be, and the thread's timer slack is what it was.
#include "emulator/host/os/nap.h"

#include <sys/prctl.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/os/clock.h"

using namespace verbena;
using namespace verbena::host;

BOOST_AUTO_TEST_CASE(nap_lasts_and_leaves_the_threads_timer_slack_as_it_was) {
  constexpr unsigned long kSlackNs = 70'000;
  BOOST_REQUIRE(prctl(PR_SET_TIMERSLACK, kSlackNs) == 0);
  for (const Duration length : {microseconds(2), milliseconds(3)}) {
    const Time began = clock_now();
    nap(length);
    BOOST_TEST((clock_now() - began).ns >= length.ns);
    BOOST_TEST(prctl(PR_GET_TIMERSLACK) == static_cast<int>(kSlackNs));
  }
}
