// A fault of elements is one row of `verbena fault`: another one is read like those that are there.
#include "emulator/host/fabric_process/element_words.h"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/host/fabric_process/fabric_commands.h"

using namespace verbena;
using namespace verbena::host;

namespace {

ElementWord dim() {
  ElementWord word = element_words().front();
  word.kind = fabric::ElementChange::Kind::link_rate;
  word.name = "link-dim";
  word.value = ElementWord::Value::rate;
  word.undo = "link-up";
  return word;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_more_is_read_by_its_subject_and_value) {
  const fabric::Topology topology = fabric::star(2, {});
  const auto changes = parse_element(topology, dim(), {"link-dim", "n1-s1", "1Gbps"});
  BOOST_REQUIRE(changes.ok());
  BOOST_TEST(changes->front().links.size() == 2u);
  BOOST_TEST(changes->front().rate_bits_per_second == 1'000'000'000u);
  BOOST_TEST(parse_element(topology, dim(), {"link-dim", "n1-s1", "fast"}).error().starts_with("'fast' is no rate"));
  BOOST_TEST(parse_element(topology, dim(), {"link-dim", "n9-s1", "0"}).error().starts_with("there is no link"));
}

BOOST_AUTO_TEST_CASE(a_row_more_is_explained_with_what_undoes_it) {
  std::vector<ElementWord> words(element_words().begin(), element_words().end());
  words.push_back(dim());
  bool found = false;
  for (const FabricCommands::Explained& word : FabricCommands::explained(words))
    if (word.name == "link-dim") found = word.undo == "link-up";
  BOOST_TEST(found);
}

BOOST_AUTO_TEST_CASE(what_undoes_a_fault_is_a_word_as_well) {
  for (const ElementWord& word : element_words()) {
    const bool is_word = word.undo.empty() || std::ranges::count(element_words(), word.undo, &ElementWord::name) == 1;
    BOOST_TEST(is_word, word.name);
  }
}
