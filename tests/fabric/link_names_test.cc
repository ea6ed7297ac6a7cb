// Which links a name means: of nodes, rails, switches, cables, directions and groups.
#include "emulator/fabric/link_names.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/rails.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {
using Links = std::vector<LinkId>;
constexpr auto kTx = FaultDirection::tx;
constexpr auto kRx = FaultDirection::rx;
constexpr auto kBoth = FaultDirection::both;

/// n1-s1, n2-s2, s1-s2: a host is the first end of its cable, and a switch of the trunk.
Topology two_switches() {
  Topology made;
  made.vertices = {{"n1", VertexKind::host},
                   {"n2", VertexKind::host},
                   {"s1", VertexKind::network_switch},
                   {"s2", VertexKind::network_switch}};
  made.hosts = 2;
  made.cables = {{0, 2, {}}, {3, 1, {}}, {2, 3, {}}};  // the second one the other way round
  return made;
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_node_or_switch_is_its_cables_seen_from_there) {
  const Topology topology = two_switches();
  BOOST_TEST((links_named(topology, "n1", {}) == Links{{0, false}}));
  BOOST_TEST((links_named(topology, "n1", kRx) == Links{{0, true}}));
  BOOST_TEST((links_named(topology, "n1", kBoth) == Links{{0, false}, {0, true}}));
  BOOST_TEST((links_named(topology, "n2", {}) == Links{{1, true}}));
  BOOST_TEST((links_named(topology, "n2", kRx) == Links{{1, false}}));
  BOOST_TEST((links_named(topology, "s1", kTx) == Links{{0, true}, {2, false}}));
  BOOST_TEST((links_named(topology, "s2", kRx) == Links{{1, true}, {2, false}}));
}

BOOST_AUTO_TEST_CASE(a_cable_is_both_ways_and_an_arrow_is_one) {
  const Topology topology = two_switches();
  BOOST_TEST((links_named(topology, "s2-n2", {}) == Links{{1, false}, {1, true}}));
  BOOST_TEST((links_named(topology, "n2-s2", {}) == Links{{1, false}, {1, true}}));
  BOOST_TEST((links_named(topology, "n2-s2", kTx) == Links{{1, true}}));
  BOOST_TEST((links_named(topology, "n2-s2", kRx) == Links{{1, false}}));
  BOOST_TEST((links_named(topology, "n2->s2", {}) == Links{{1, true}}));
  BOOST_TEST((links_named(topology, "s2->n2", kBoth) == Links{{1, false}}));
}

BOOST_AUTO_TEST_CASE(groups_are_of_hosts_of_switches_or_of_all) {
  const Topology topology = two_switches();
  BOOST_TEST(links_named(topology, "all", {}).size() == 6u);
  BOOST_TEST((links_named(topology, "hosts", {}) == Links{{0, false}, {0, true}, {1, false}, {1, true}}));
  BOOST_TEST((links_named(topology, "hosts", kTx) == Links{{0, false}, {1, true}}));
  BOOST_TEST((links_named(topology, "hosts", kRx) == Links{{0, true}, {1, false}}));
  BOOST_TEST((links_named(topology, "trunks", kBoth) == Links{{2, false}, {2, true}}));
  BOOST_TEST(links_named(star(2, {}), "trunks", {}).empty());
}

BOOST_AUTO_TEST_CASE(a_node_is_all_of_its_rails_and_a_rail_is_one) {
  const Topology topology = *with_rails(star(2, {}), {.rails = 2});
  BOOST_TEST((links_named(topology, "n2", {}) == Links{{1, false}, {3, false}}));
  BOOST_TEST((links_named(topology, "n2.2", {}) == Links{{3, false}}));
  BOOST_TEST((links_named(topology, "n2->s2", {}) == Links{{3, false}}));
}

BOOST_AUTO_TEST_CASE(names_of_nothing_mean_no_links) {
  const Topology topology = two_switches();
  for (const char* name : {"", "-", "->", "n3", "n1-", "-n1", "n1-s2", "n1->n2", "host", "n1.1", "n1 -s1"})
    BOOST_TEST(links_named(topology, name, {}).empty(), name);
}

BOOST_AUTO_TEST_CASE(a_direction_is_said_once_and_of_what_has_one) {
  BOOST_TEST(!why_no_direction("n1", kRx).has_value());
  BOOST_TEST(!why_no_direction("n1-s1", kTx).has_value());
  BOOST_TEST(!why_no_direction("hosts", kRx).has_value());
  BOOST_TEST(!why_no_direction("all", kBoth).has_value());
  BOOST_TEST(!why_no_direction("n1->s1", {}).has_value());
  for (const char* name : {"all", "trunks", "n1->s1"}) BOOST_TEST(why_no_direction(name, kRx).has_value(), name);
}
