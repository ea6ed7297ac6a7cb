// Which known word somebody may have meant.
#include "emulator/fabric/nearest_word.h"

#include <array>
#include <boost/test/unit_test.hpp>

using namespace verbena;

namespace {
constexpr std::array<std::string_view, 6> kKnown{"link", "link-down", "link-up", "retry-count", "drop", "topology"};
}

BOOST_AUTO_TEST_CASE(underscores_and_capitals_are_what_they_stand_for) {
  BOOST_TEST(fabric::nearest("link_down", kKnown) == "link-down");
  BOOST_TEST(fabric::nearest("Retry_Count", kKnown) == "retry-count");
}

BOOST_AUTO_TEST_CASE(a_few_wrong_letters_and_beginnings_are_found) {
  BOOST_TEST(fabric::nearest("lnik-down", kKnown) == "link-down");
  BOOST_TEST(fabric::nearest("link-donw", kKnown) == "link-down");
  BOOST_TEST(fabric::nearest("dorp", kKnown) == "drop");
  BOOST_TEST(fabric::nearest("topo", kKnown) == "topology");
  BOOST_TEST(fabric::nearest("links-of-all-kinds", kKnown) == "link");
}

BOOST_AUTO_TEST_CASE(what_is_like_nothing_is_nothing) {
  BOOST_TEST(fabric::nearest("", kKnown) == "");
  BOOST_TEST(fabric::nearest("quux", kKnown) == "");
  BOOST_TEST(fabric::did_you_mean("quux", kKnown) == "");
  BOOST_TEST(fabric::did_you_mean("dorp", kKnown) == "; did you mean 'drop'?");
}
