// When a fabric process is short of a core, and until when its clock ticks.
#include "emulator/host/fabric_process/core_lease.h"

#include <poll.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/os/clock.h"

using namespace verbena;
using namespace verbena::host;

namespace {

constexpr Duration kSoon = microseconds(10);

/// False: no tick for a second, which is a thousand of them.
bool wait_for_tick(const CoreLease& lease) {
  pollfd tick{lease.clock(), POLLIN, 0};
  return poll(&tick, 1, 1000) > 0;
}

void begin(CoreLease& lease) {
  for (int i = 0; i < CoreLease::kScoreToBegin; ++i) lease.woken_after(kSoon, true);
  BOOST_REQUIRE(lease.is_on());
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_begins_with_short_sleeps_beside_somebody_who_is_awake) {
  CoreLease lease;
  BOOST_TEST(lease.clock() == -1);
  for (int i = 1; i < CoreLease::kScoreToBegin; ++i) lease.woken_after(kSoon, true);
  BOOST_TEST(!lease.is_on());
  lease.woken_after(kSoon, true);
  BOOST_TEST(lease.is_on());
  BOOST_TEST(wait_for_tick(lease));
}

BOOST_AUTO_TEST_CASE(long_sleeps_and_sleeps_beside_nobody_count_against_it) {
  CoreLease lease;
  for (int i = 0; i < 100; ++i) {
    lease.woken_after(kSoon, true);
    lease.woken_after(i % 2 == 0 ? kSoon : CoreLease::kShortSleep, i % 2 != 0);
  }
  BOOST_TEST(!lease.is_on());
}

BOOST_AUTO_TEST_CASE(lease_ends_when_the_core_is_free_and_ticks_once_more) {
  CoreLease lease;
  begin(lease);
  for (int i = 0; i < CoreLease::kScoreMax && lease.is_on(); ++i) lease.woken_after(kSoon, false);
  BOOST_TEST(!lease.is_on());
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(clock_now());
  BOOST_TEST(!lease.is_on());
  BOOST_TEST(lease.clock() == -1);
}

BOOST_AUTO_TEST_CASE(it_ends_when_no_frames_move_and_not_while_they_do) {
  CoreLease lease;
  begin(lease);
  const Time now = clock_now();
  lease.moved(now);
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(now + CoreLease::kQuiet);
  BOOST_TEST(lease.is_on());
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(now + CoreLease::kQuiet + nanoseconds(1));
  BOOST_TEST(!lease.is_on());
  BOOST_TEST(lease.clock() != -1);
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(now + milliseconds(1));
  BOOST_TEST(lease.clock() == -1);
}

BOOST_AUTO_TEST_CASE(what_begins_again_while_it_ends_goes_on) {
  CoreLease lease;
  begin(lease);
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(clock_now());  // nothing has ever moved
  BOOST_REQUIRE(!lease.is_on());
  begin(lease);
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.moved(clock_now());
  lease.ticked(clock_now());
  BOOST_TEST(lease.is_on());
}

BOOST_AUTO_TEST_CASE(a_tick_that_another_has_taken_is_none) {
  CoreLease lease;
  begin(lease);
  BOOST_REQUIRE(wait_for_tick(lease));
  lease.ticked(clock_now());
  BOOST_REQUIRE(!lease.is_on());
  lease.ticked(clock_now());  // the clock has not ticked since
  BOOST_TEST(lease.clock() != -1);
}
