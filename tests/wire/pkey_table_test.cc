// Where a P_Key stands in a port's table.
#include "wire/pkey_table.h"

#include <array>
#include <boost/test/unit_test.hpp>

using namespace verbena::wire;

BOOST_AUTO_TEST_CASE(a_full_member_is_found_before_a_limited_one) {
  constexpr std::array<std::uint16_t, 5> kTable{0xffff, 0, 0x0005, 0x8005, 0x0006};
  BOOST_TEST(find_pkey(kTable, 0xffff).value() == 0);
  BOOST_TEST(find_pkey(kTable, 0x7fff).value() == 0);
  BOOST_TEST(find_pkey(kTable, 0x0005).value() == 3);
  BOOST_TEST(find_pkey(kTable, 0x8005).value() == 3);
  BOOST_TEST(find_pkey(kTable, 0x8006).value() == 4);
  BOOST_TEST(!find_pkey(kTable, 0x8007).has_value());
}
