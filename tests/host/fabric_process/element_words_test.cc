// A fault of elements is one row of `verbena fault`: another one is read like those that are there.
#include "emulator/host/fabric_process/element_words.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/qos.h"
#include "emulator/fabric/rails.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "tests/support/toy_element_row.h"

using namespace verbena;
using namespace verbena::host;

using test::link_dim;

BOOST_AUTO_TEST_CASE(a_row_more_is_read_by_its_subject_and_value) {
  const fabric::Topology topology = fabric::star(2, {});
  const auto changes = parse_element(topology, link_dim(), {"link-dim", "n1-s1", "1Gbps"});
  BOOST_REQUIRE(changes.ok());
  const auto& change = std::get<fabric::ElementChange>(changes->front());
  BOOST_TEST(change.links.size() == 2u);
  BOOST_TEST(change.rate_bits_per_second == 1'000'000'000u);
  BOOST_TEST(
      parse_element(topology, link_dim(), {"link-dim", "n1-s1", "fast"}).error().starts_with("'fast' is no rate"));
  BOOST_TEST(parse_element(topology, link_dim(), {"link-dim", "n9-s1", "0"}).error().starts_with("there is no link"));
  BOOST_TEST(parse_element(topology, link_dim(), {"link-dim", "n1-s1"}).error() ==
             "that is not how it goes: link-dim LINK RATE");
}

BOOST_AUTO_TEST_CASE(nobody_pauses_without_classes_or_on_infiniband) {
  fabric::Topology topology = fabric::star(2, {});
  const auto error = [&] {
    return parse_element(topology, fabric::element_row(fabric::ElementChange::Kind::pause_storm), {"pause-storm", "n1"})
        .error();
  };
  BOOST_TEST(error().starts_with("this fabric has no traffic classes"));
  topology.medium = wire::Medium::infiniband;
  topology.qos = fabric::infiniband_qos();
  BOOST_TEST(error().starts_with("InfiniBand has credits, and nobody pauses"));
}

BOOST_AUTO_TEST_CASE(a_nodes_name_stands_for_all_of_its_rails) {
  const fabric::Topology topology = *fabric::with_rails(fabric::star(2, {}), {.rails = 2});
  using Links = std::vector<fabric::LinkId>;
  using Numbers = std::vector<std::uint32_t>;
  BOOST_TEST((*find_links(topology, "n1.2-s2", {}) == Links{{2, false}, {2, true}}));
  BOOST_TEST((*find_links(topology, "n1->s2", {}) == Links{{2, false}}));
  BOOST_TEST((*find_links(topology, "s1->n2.1", {}) == Links{{1, true}}));
  BOOST_TEST(find_links(topology, "all", {})->size() == 8u);
  BOOST_TEST((find_vertices(topology, "n2", true) == Numbers{2, 3}));
  BOOST_TEST((find_vertices(topology, "n1.2,n2.1", true) == Numbers{1, 2}));
  BOOST_TEST(!find_links(topology, "n1.1-s2", {}).ok());
  for (const char* wrong : {"", "-", "->", "n1.3", "n1.1-", "-s1", "n1.1-s1-n2.1", "n1.1,", "n1.1,n9"})
    BOOST_TEST(!find_links(topology, wrong, {}).ok(), wrong);
  BOOST_TEST(not_a_node(topology, "n1.3").ends_with("; n1 has the rails n1.1 and n1.2"));
  BOOST_TEST(find_links(topology, "n1.3-s1", {}).error() ==
             "there is no link 'n1.3-s1'; n1 has the rails n1.1 and n1.2");
  BOOST_TEST(find_links(topology, "n1.3", {}).error() == "there is no link 'n1.3'; n1 has the rails n1.1 and n1.2");
  BOOST_TEST(not_a_node(fabric::star(2, {}), "n1.2").ends_with("; n1 has one rail: write n1"));
}

BOOST_AUTO_TEST_CASE(links_are_named_as_in_scenarios) {
  const fabric::Topology topology = *fabric::with_rails(fabric::star(2, {}), {.rails = 2});
  using Links = std::vector<fabric::LinkId>;
  constexpr auto kBoth = fabric::FaultDirection::both;
  // Cables of rail 1: n1.1-s1, n2.1-s1; of rail 2: n1.2-s2, n2.2-s2.
  BOOST_TEST((*find_links(topology, "n1", kBoth) == Links{{0, false}, {0, true}, {2, false}, {2, true}}));
  BOOST_TEST((*find_links(topology, "n1.2", kBoth) == Links{{2, false}, {2, true}}));
  BOOST_TEST((*find_links(topology, "s2", kBoth) == Links{{2, false}, {2, true}, {3, false}, {3, true}}));
  BOOST_TEST(find_links(topology, "hosts", kBoth)->size() == 8u);
  BOOST_TEST((*find_links(topology, "n1.2,n1.2-s2", kBoth) == Links{{2, false}, {2, true}}));
  BOOST_TEST(find_links(topology, "trunks", kBoth).error() == "this fabric has no trunks");
  BOOST_TEST(find_links(topology, "m1", kBoth).error() ==
             "there is no node, switch or link 'm1': write n1, n1-s1, n1->s1, hosts, trunks or all (verbena stat lists "
             "them); did you mean 's1'?");
  // Of a packet fault, what leaves the node; or what enters it.
  BOOST_TEST((*find_links(topology, "n1.2", {}) == Links{{2, false}}));
  BOOST_TEST((*find_links(topology, "n1.2", fabric::FaultDirection::rx) == Links{{2, true}}));
  const auto of = [&](const char* names, const char* rule) {
    const auto links = find_links_of(topology, names, *fabric::parse_fault(rule));
    return links ? std::to_string(links->size()) : links.error();
  };
  BOOST_TEST(of("n1", "drop 1%") == "2");
  BOOST_TEST(of("n1,n2.1", "drop 1% dir=both") == "6");
  BOOST_TEST(of("n1.2,n1.2->s2", "drop 1% dir=rx") == "'n1.2->s2': it names a direction already: leave dir= out");
  BOOST_TEST(of("all", "drop 1% dir=rx") ==
             "'all': dir= has no meaning here: name nodes, or directions such as n1->s1");
}

BOOST_AUTO_TEST_CASE(a_row_more_is_explained_with_what_undoes_it) {
  const auto all = FabricCommands::explained(test::rows_and_link_dim());
  const auto found = std::ranges::find(all, "link-dim", &FabricCommands::Explained::name);
  BOOST_REQUIRE(found != all.end());
  BOOST_TEST(found->undo == "link-up");
  BOOST_TEST(found->usage == "link-dim LINK RATE");
  BOOST_TEST(found->text == "The cable is dim.");
}

BOOST_AUTO_TEST_CASE(what_undoes_a_fault_on_a_fabric_is_a_word_of_it_as_well) {
  const auto all = FabricCommands::explained();
  for (const FabricCommands::Explained& word : all) {
    const bool is_word = word.undo.empty() || std::ranges::count(all, word.undo, &FabricCommands::Explained::name) == 1;
    BOOST_TEST(is_word, word.name);
    // A scenario restarts the node; the fabric process has no power over it.
    if (word.name == "device-removal") BOOST_TEST(word.undo == "");
  }
}
