// Text of others on a terminal: what it may hold, and what is shown in its place.
#include "wire/printable.h"

#include <boost/test/unit_test.hpp>

namespace verbena::wire::test {

BOOST_AUTO_TEST_CASE(words_of_any_script_stay_as_they_are) {
  for (const char* text : {"", "drop 0.1% qp=17", "a\\b", "Grüße, 世界, привет", "\U0001F680"})
    BOOST_TEST(printable(text) == text);
}

BOOST_AUTO_TEST_CASE(nothing_moves_the_cursor_or_ends_the_line) {
  BOOST_TEST(printable("a\x1b]0;b\x07\x1b[2J") == "a\\x1b]0;b\\x07\\x1b[2J");
  BOOST_TEST(printable("a\n ! gap\r\t\x7f") == "a\\x0a ! gap\\x0d\\x09\\x7f");
  BOOST_TEST(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  BOOST_TEST(printable("\u009b31m") == "\\xc2\\x9b31m");  // C1: control sequence introducer
  BOOST_TEST(printable("a\u2028b\u2029") == "a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9");
}

BOOST_AUTO_TEST_CASE(nothing_is_shown_in_another_order_or_not_at_all) {
  for (const char* text :
       {"\u202e", "\u202a", "\u2066", "\u2069", "\u200f", "\u061c", "\u200b", "\ufeff", "\U000e0041"}) {
    const std::string shown = printable(text);
    BOOST_TEST(shown.size() == 4 * std::string_view(text).size());
    BOOST_TEST(shown.starts_with("\\x"));
  }
}

BOOST_AUTO_TEST_CASE(octets_that_are_no_utf_8_are_shown_one_by_one) {
  BOOST_TEST(printable("\xff") == "\\xff");
  BOOST_TEST(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  BOOST_TEST(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  BOOST_TEST(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  BOOST_TEST(printable("\xe4\xb8") == "\\xe4\\xb8");                    // cut off
  BOOST_TEST(printable("\xc3(") == "\\xc3(");
}

}  // namespace verbena::wire::test
