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
bool wait_for_tick(const Borrowing& borrowing) {
  pollfd tick{borrowing.clock(), POLLIN, 0};
  return poll(&tick, 1, 1000) > 0;
}

void begin(Borrowing& borrowing) {
  for (int i = 0; i < Borrowing::kScoreToBegin; ++i) borrowing.woken_after(kSoon, true);
  BOOST_REQUIRE(borrowing.is_on());
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_begins_with_short_sleeps_beside_somebody_who_is_awake) {
  Borrowing borrowing;
  BOOST_TEST(borrowing.clock() == -1);
  for (int i = 1; i < Borrowing::kScoreToBegin; ++i) borrowing.woken_after(kSoon, true);
  BOOST_TEST(!borrowing.is_on());
  borrowing.woken_after(kSoon, true);
  BOOST_TEST(borrowing.is_on());
  BOOST_TEST(wait_for_tick(borrowing));
}

BOOST_AUTO_TEST_CASE(long_sleeps_and_sleeps_beside_nobody_count_against_it) {
  Borrowing borrowing;
  for (int i = 0; i < 100; ++i) {
    borrowing.woken_after(kSoon, true);
    borrowing.woken_after(i % 2 == 0 ? kSoon : Borrowing::kShortSleep, i % 2 != 0);
  }
  BOOST_TEST(!borrowing.is_on());
}

BOOST_AUTO_TEST_CASE(it_ends_when_nobody_is_in_the_way_any_more_and_ticks_once_after_that) {
  Borrowing borrowing;
  begin(borrowing);
  for (int i = 0; i < Borrowing::kScoreMax && borrowing.is_on(); ++i) borrowing.woken_after(kSoon, false);
  BOOST_TEST(!borrowing.is_on());
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(clock_now());
  BOOST_TEST(!borrowing.is_on());
  BOOST_TEST(borrowing.clock() == -1);
}

BOOST_AUTO_TEST_CASE(it_ends_when_no_frames_move_and_not_while_they_do) {
  Borrowing borrowing;
  begin(borrowing);
  const Time now = clock_now();
  borrowing.moved(now);
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(now + Borrowing::kQuiet);
  BOOST_TEST(borrowing.is_on());
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(now + Borrowing::kQuiet + nanoseconds(1));
  BOOST_TEST(!borrowing.is_on());
  BOOST_TEST(borrowing.clock() != -1);
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(now + milliseconds(1));
  BOOST_TEST(borrowing.clock() == -1);
}

BOOST_AUTO_TEST_CASE(what_begins_again_while_it_ends_goes_on) {
  Borrowing borrowing;
  begin(borrowing);
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(clock_now());  // nothing has ever moved
  BOOST_REQUIRE(!borrowing.is_on());
  begin(borrowing);
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.moved(clock_now());
  borrowing.ticked(clock_now());
  BOOST_TEST(borrowing.is_on());
}

BOOST_AUTO_TEST_CASE(a_tick_that_another_has_taken_is_none) {
  Borrowing borrowing;
  begin(borrowing);
  BOOST_REQUIRE(wait_for_tick(borrowing));
  borrowing.ticked(clock_now());
  BOOST_REQUIRE(!borrowing.is_on());
  borrowing.ticked(clock_now());  // the clock has not ticked since
  BOOST_TEST(borrowing.clock() != -1);
}
