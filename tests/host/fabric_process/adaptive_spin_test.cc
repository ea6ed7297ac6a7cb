// How long a fabric process looks for frames in vain.
#include "emulator/host/fabric_process/adaptive_spin.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::host;

BOOST_AUTO_TEST_CASE(it_is_shorter_with_each_miss_and_longer_with_each_find_within_its_bounds) {
  AdaptiveSpin spin;
  BOOST_TEST((spin.get() == AdaptiveSpin::kMax));
  spin.missed();
  BOOST_TEST((spin.get() == microseconds(16)));
  for (int i = 0; i < 10; ++i) spin.missed();
  BOOST_TEST((spin.get() == AdaptiveSpin::kMin));
  spin.found();
  BOOST_TEST((spin.get() == AdaptiveSpin::kMin * 2));
  for (int i = 0; i < 10; ++i) spin.found();
  BOOST_TEST((spin.get() == AdaptiveSpin::kMax));
}

BOOST_AUTO_TEST_CASE(a_sleep_that_ends_sooner_than_the_longest_look_would_have_makes_it_longer) {
  AdaptiveSpin spin;
  for (int i = 0; i < 10; ++i) spin.missed();
  spin.woken_after(AdaptiveSpin::kMax);
  BOOST_TEST((spin.get() == AdaptiveSpin::kMin));
  spin.woken_after(AdaptiveSpin::kMax - nanoseconds(1));
  BOOST_TEST((spin.get() == AdaptiveSpin::kMin * 2));
}
