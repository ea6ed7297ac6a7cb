// How many there are of a thing, as text.
#include "wire/counted.h"

#include <boost/test/unit_test.hpp>

using verbena::wire::counted;

BOOST_AUTO_TEST_CASE(one_is_singular_and_everything_else_is_plural) {
  BOOST_TEST(counted(0, "packet") == "0 packets");
  BOOST_TEST(counted(1, "packet") == "1 packet");
  BOOST_TEST(counted(2, "packet") == "2 packets");
  BOOST_TEST(counted(1, "switch", "switches") == "1 switch");
  BOOST_TEST(counted(4, "switch", "switches") == "4 switches");
}
