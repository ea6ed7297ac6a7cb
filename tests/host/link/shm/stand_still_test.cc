// For how long something has not moved, by looks at it: close ones, ones far apart, and ones that come too late.
#include "emulator/host/link/shm/stand_still.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::host;

namespace {
constexpr Duration kPatience = milliseconds(1000);
constexpr Duration kClose{kPatience.ns / StandStill::kCloseLooks};
constexpr Time kBegin{5'000'000'000};
}  // namespace

BOOST_AUTO_TEST_CASE(what_does_not_move_stands_still_once_the_patience_is_over) {
  for (const Duration apart : {microseconds(50), milliseconds(1), kClose}) {
    StandStill still;
    Time now = kBegin;
    for (; now < kBegin + kPatience; now = now + apart) BOOST_TEST_REQUIRE(!still.look(7, now, kPatience));
    BOOST_TEST(still.look(7, now, kPatience));
    BOOST_TEST(still.look(7, now, kPatience));
  }
}

BOOST_AUTO_TEST_CASE(what_moves_begins_anew) {
  StandStill still;
  Time now = kBegin;
  for (std::uint64_t i = 0; i < 20; ++i) {
    now = now + kClose;
    BOOST_TEST(!still.look(i / 4, now, kPatience));
  }
  for (int i = 0; i < 4; ++i) still.look(4, now = now + kClose, kPatience);
  BOOST_TEST(still.look(4, now, kPatience));
  BOOST_TEST(!still.look(5, now, kPatience));
}

BOOST_AUTO_TEST_CASE(a_gap_between_looks_counts_as_close_looks_do) {
  StandStill still;
  BOOST_TEST(!still.look(7, kBegin, kPatience));
  Time now = kBegin;
  // Even for good: it is given up after some looks, however far they are apart.
  for (std::int64_t looks = 1; looks <= StandStill::kCloseLooks; ++looks) {
    now = now + kPatience * 10;
    BOOST_TEST(still.look(7, now, kPatience) == (looks == StandStill::kCloseLooks));
  }
}

BOOST_AUTO_TEST_CASE(a_gap_takes_nothing_from_what_close_looks_have_seen) {
  StandStill still;
  still.look(7, kBegin, kPatience);
  still.look(7, kBegin + kClose, kPatience);
  const Time after = kBegin + kPatience * 100;
  BOOST_TEST(!still.look(7, after, kPatience));
  BOOST_TEST(!still.look(7, after + kClose, kPatience));
  BOOST_TEST(!still.look(7, after + kClose * 2 - Duration{1}, kPatience));
  BOOST_TEST(still.look(7, after + kClose * 2, kPatience));
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_read_earlier_counts_no_time_twice) {
  StandStill still;
  still.look(7, kBegin, kPatience);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(!still.look(7, kBegin + kClose, kPatience));
    BOOST_TEST(!still.look(7, kBegin, kPatience));
  }
}

BOOST_AUTO_TEST_CASE(what_had_nothing_to_move_for_begins_anew) {
  StandStill still;
  still.look(7, kBegin, kPatience);
  for (int i = 1; i < StandStill::kCloseLooks; ++i) still.look(7, kBegin + kClose * i, kPatience);
  still.forget();
  BOOST_TEST(!still.look(7, kBegin + kPatience, kPatience));
}
