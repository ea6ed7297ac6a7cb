// A fault of elements is one row of a table: scenarios read one that they have not met before.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "scenarios/language/parts.h"
#include "tests/scenarios/language/reading.h"
#include "tests/support/toy_element_row.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Scenario read(const std::string& fault) {
  Scenario scenario = test::good(test::with(""));
  read_faults(parse_text(fault), ElementNames(scenario.topology), scenario, test::rows_and_link_dim());
  return scenario;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_more_is_a_fault_more_with_its_keys_and_its_end) {
  const Scenario scenario = read("[{link-dim: n1-s1, rate: 1Gbps, times: 3, at: 1ms, for: 2ms}]");
  BOOST_REQUIRE(scenario.faults.size() == 2u);
  const auto& fault = std::get<fabric::ElementChange>(scenario.faults[0].what);
  BOOST_TEST(fault.rate_bits_per_second == 1'000'000'000u);
  BOOST_TEST(fault.links.size() == 2u);
  BOOST_TEST(scenario.faults[0].text == "link-dim n1-s1");
  const auto& end = std::get<fabric::ElementChange>(scenario.faults[1].what);
  BOOST_TEST((end.kind == fabric::ElementChange::Kind::link_up));
  BOOST_TEST((scenario.faults[1].trigger.at == milliseconds(3)));
}

BOOST_AUTO_TEST_CASE(a_row_more_is_named_where_another_word_was_written) {
  const auto error_of = [](const std::string& fault) -> std::string {
    try {
      read(fault);
    } catch (const ReadError& error) {
      return error.text;
    }
    return "";
  };
  BOOST_TEST(error_of("[{link-dimm: n1-s1}]").ends_with("did you mean 'link-dim'?"));
  BOOST_TEST(error_of("[{link-dim: n1-s1}]") == "key 'rate' is missing: write rate: 1Gbps");
  BOOST_TEST(error_of("[{link-dim: n1-s1, down: 1ms}]").find("unknown key 'down'") != std::string::npos);
}
