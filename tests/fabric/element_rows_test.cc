// The rows of faults of elements: what each means as a value, and which row a value has.
#include "emulator/fabric/element_rows.h"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace verbena;
using namespace verbena::fabric;

namespace {

ElementDetails something() {
  ElementDetails said;
  said.hosts = {1, 2};
  said.links = {{3, true}};
  said.rate_bits_per_second = 7;
  said.workload = "w";
  said.down = milliseconds(4);
  said.times = 5;
  said.status = 6;
  return said;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_makes_a_value_of_its_kind_from_what_was_said) {
  const auto change = std::get<ElementChange>(fault_of(ElementChange::Kind::link_rate, something()));
  BOOST_TEST((change.kind == ElementChange::Kind::link_rate));
  BOOST_TEST((change.links == std::vector<LinkId>{{3, true}}));
  BOOST_TEST(change.rate_bits_per_second == 7u);
  const auto nodes = std::get<NodeChange>(fault_of(NodeChange::Kind::freeze, something()));
  BOOST_TEST((nodes.kind == NodeChange::Kind::freeze));
  BOOST_TEST((nodes.hosts == std::vector<std::uint32_t>{1, 2}));
  const auto software = std::get<SoftwareFault>(fault_of(SoftwareFault::Kind::rnr_storm, something()));
  BOOST_TEST((software.kind == SoftwareFault::Kind::rnr_storm));
  BOOST_TEST((software.hosts == std::vector<std::uint32_t>{1, 2}));
  BOOST_TEST(software.workload == "w");
  BOOST_TEST((software.lasts == milliseconds(4)));
  BOOST_TEST(software.times == 5u);
  BOOST_TEST(int{software.status} == 6);
}

BOOST_AUTO_TEST_CASE(a_value_has_the_row_that_makes_it) {
  for (const ElementRow& row : element_rows()) {
    const ElementRow* const found = row_of(fault_of(row.kind, {}));
    BOOST_REQUIRE(found != nullptr);
    BOOST_TEST(found->word == (row.in_between ? "link-down" : row.word));
  }
  BOOST_TEST(row_of(PacketRule{}) == nullptr);
}

BOOST_AUTO_TEST_CASE(words_and_keys_are_said_once) {
  std::set<std::string_view> words;
  for (const ElementRow& row : element_rows()) {
    BOOST_TEST(words.insert(row.word).second, row.word);
    BOOST_TEST(find_element(row.word) == &row);
    BOOST_TEST(!row.in_scenario.text.empty(), row.word);
  }
  std::set<std::string_view> keys;
  for (const ElementKey& key : element_keys()) BOOST_TEST(keys.insert(key.key).second, key.key);
  BOOST_TEST(find_element("link-dim") == nullptr);
}
