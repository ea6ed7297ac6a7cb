// A packet fault is one row of a table: an action and a word that were not there before are read, explained, refused.
#include "emulator/fabric/fault_rows.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace verbena;
using namespace verbena::fabric;

namespace {

/// `linger by=TIME late=yes|no`, done as a delay.
struct Extended {
  std::vector<FaultActionRow> actions{fault_table().actions.begin(), fault_table().actions.end()};
  std::vector<FaultWordRow> words{fault_table().words.begin(), fault_table().words.end()};
  FaultTable table() const { return {actions, words}; }

  Extended() {
    actions.push_back({.name = "linger",
                       .value = FaultAction::delay,
                       .past = "kept",
                       .gravity = 2,
                       .text = "The packet lingers.",
                       .example = "linger by=10us",
                       .lacks = [](const FaultRule& rule, std::span<const std::string_view>) -> std::string_view {
                         return rule.delay.ns == 0 ? "linger needs a time" : "";
                       }});
    words.push_back({.name = "late",
                     .action = FaultAction::delay,
                     .value = fault_value::YesNo{&FaultRule::repair_icrc},
                     .text = "Later.",
                     .example = "linger by=10us late=yes"});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_action_has_its_row_in_order) {
  for (std::size_t i = 0; i < fault_table().actions.size(); ++i) {
    const FaultActionRow& row = fault_table().actions[i];
    BOOST_TEST(static_cast<std::size_t>(row.value) == i);
    BOOST_TEST(row.name == to_string(row.value));
    BOOST_TEST(!row.past.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_row_more_is_read_and_refused_like_the_others) {
  const Extended rows;
  const auto rule = parse_fault("linger by=10us late=yes 1%", rows.table());
  BOOST_REQUIRE(rule.ok());
  BOOST_TEST(rule->delay.ns == 10'000);
  BOOST_TEST(rule->repair_icrc);
  BOOST_TEST(rule->text == "linger by=10us late=yes 1%");
  BOOST_TEST(parse_fault("linger 1%", rows.table()).error() == "fault 'linger 1%': linger needs a time");
  BOOST_TEST(parse_fault("lingr", rows.table()).error().ends_with("did you mean 'linger'?"));
  BOOST_TEST(parse_fault("linger to=3", rows.table()).error().find("'to' does not belong to linger") !=
             std::string::npos);
  BOOST_TEST(!parse_fault("linger by=10us").ok());
}

BOOST_AUTO_TEST_CASE(a_row_more_is_explained_with_its_words) {
  const Extended rows;
  const auto words = fault_action_words(rows.table());
  BOOST_TEST(words.back().action.name == "linger");
  BOOST_TEST(words.back().parameters.back().name == "late");
}
