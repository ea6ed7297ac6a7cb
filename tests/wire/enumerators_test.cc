// Which values of an enumeration have a name is seen when a table is compiled.
#include "wire/enumerators.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>

using verbena::wire::enumerators;
using verbena::wire::is_enumerator;

namespace {
enum class Word : std::uint8_t { first, second, last };
struct Holder {
  enum class Kind : std::uint8_t { only } kind;
};
}  // namespace

BOOST_AUTO_TEST_CASE(the_value_behind_the_last_enumerator_has_no_name) {
  static_assert(is_enumerator<Word, 0> && is_enumerator<Word, 2> && !is_enumerator<Word, 3>);
  static_assert(is_enumerator<Holder::Kind, 0> && !is_enumerator<Holder::Kind, 1>);
  static_assert(enumerators<Word>() == 3 && enumerators<Holder::Kind>() == 1);
  BOOST_TEST(!(is_enumerator<Word, 200>));
}
