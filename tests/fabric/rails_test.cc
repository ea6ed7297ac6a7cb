// Nodes with rails: which switches they are joined to, what they are called, and who can reach whom.
#include "emulator/fabric/rails.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/fabric/network.h"
#include "emulator/fabric/shape_table.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

Topology railed(const Topology& shape, std::uint32_t rails, Planes planes) {
  auto made = with_rails(shape, {.rails = rails, .planes = planes});
  BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error()));
  const auto checked = check(*made);
  BOOST_TEST(checked.ok(), (checked.ok() ? "" : checked.error()));
  return *made;
}

std::string cables_of(const Topology& topology) {
  std::string names;
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable)
    names += (cable == 0 ? "" : " ") + topology.cable_name(cable);
  return names;
}

using Numbers = std::vector<std::uint32_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(separate_planes_have_switches_of_their_own) {
  BOOST_TEST(cables_of(railed(star(2, {}), 2, Planes::separate)) == "n1.1-s1 n2.1-s1 n1.2-s2 n2.2-s2");
  BOOST_TEST(cables_of(railed(line(2, {}), 2, Planes::separate)) == "n1.1-s1 n2.1-s2 s1-s2 n1.2-s3 n2.2-s4 s3-s4");
}

BOOST_AUTO_TEST_CASE(shared_planes_join_all_rails_to_the_same_switches) {
  BOOST_TEST(cables_of(railed(star(2, {}), 2, Planes::shared)) == "n1.1-s1 n2.1-s1 n1.2-s1 n2.2-s1");
  BOOST_TEST(cables_of(railed(line(2, {}), 2, Planes::shared)) == "n1.1-s1 n2.1-s2 s1-s2 n1.2-s1 n2.2-s2");
}

BOOST_AUTO_TEST_CASE(every_shape_may_have_rails) {
  for (const Shape& shape : shapes()) {
    const Topology one = shape.make(*shape.sizes_of(16), {});
    for (const Planes planes : {Planes::separate, Planes::shared}) {
      const Topology topology = railed(one, 3, planes);
      BOOST_TEST(topology.nodes() == 16u);
      BOOST_TEST(topology.hosts == 48u);
      BOOST_TEST(topology.switches() == one.switches() * (planes == Planes::separate ? 3 : 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(one_rail_is_the_shape_itself) {
  const Topology topology = railed(star(3, {}), 1, Planes::separate);
  BOOST_TEST(cables_of(topology) == "n1-s1 n2-s1 n3-s1");
  BOOST_TEST((topology.planes == Planes::shared));
  BOOST_TEST(topology.node_name(2) == "n3");
}

BOOST_AUTO_TEST_CASE(a_host_belongs_to_a_node_and_is_one_of_its_rails) {
  const Topology topology = railed(star(2, {}), 3, Planes::separate);
  BOOST_TEST(topology.vertices[4].name == "n2.2");
  BOOST_TEST(topology.node_of(4) == 1u);
  BOOST_TEST(topology.rail_of(4) == 1u);
  BOOST_TEST(topology.node_name(1) == "n2");
}

BOOST_AUTO_TEST_CASE(a_node_s_name_stands_for_all_of_its_rails) {
  const Topology topology = railed(star(2, {}), 2, Planes::separate);
  BOOST_TEST((vertices_named(topology, "n2") == Numbers{2, 3}));
  BOOST_TEST((vertices_named(topology, "n2.2") == Numbers{3}));
  BOOST_TEST((vertices_named(topology, "s2") == Numbers{5}));
  BOOST_TEST(vertices_named(topology, "n2.3").empty());
  BOOST_TEST(vertices_named(topology, "n").empty());
  BOOST_TEST((cables_between(topology, "n2", "s2") == Numbers{3}));
  BOOST_TEST((cables_between(topology, "s1", "n1") == Numbers{0}));
  BOOST_TEST(cables_between(topology, "n1.1", "s2").empty());
  BOOST_TEST((cables_between(railed(star(2, {}), 2, Planes::shared), "n2", "s1") == Numbers{1, 3}));
}

BOOST_AUTO_TEST_CASE(a_cable_between_names_is_one_for_each_rail) {
  const Topology topology = railed(star(2, {}), 2, Planes::separate);
  using Ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  BOOST_TEST((ends_named(topology, "n1.2", "s2") == Ends{{1, 5}}));
  BOOST_TEST((ends_named(topology, "s1", "n2") == Ends{{4, 2}, {4, 3}}));
  BOOST_TEST((ends_named(topology, "n1", "n2") == Ends{{0, 2}, {1, 3}}));
  BOOST_TEST((ends_named(topology, "n1", "n2.1") == Ends{{0, 2}, {1, 2}}));
  BOOST_TEST(ends_named(topology, "n1", "x").empty());
}

BOOST_AUTO_TEST_CASE(a_rail_that_there_is_not_is_told_what_there_is) {
  const Topology two = railed(star(2, {}), 2, Planes::separate);
  BOOST_TEST(rails_meant(two, "n1.3") == "; n1 has the rails n1.1 and n1.2");
  BOOST_TEST(rails_meant(railed(star(2, {}), 16, Planes::shared), "n2.17") == "; n2 has the rails n2.1 to n2.16");
  BOOST_TEST(rails_meant(star(2, {}), "n1.2") == "; n1 has one rail: write n1");
  for (const char* other : {"n3.1", "n1", "n1.", "n1.x", "s1.2", ".1"}) BOOST_TEST(rails_meant(two, other) == "");
}

BOOST_AUTO_TEST_CASE(too_many_rails_are_refused_before_they_are_made) {
  const auto wrong = with_rails(star(60'000, {}), {.rails = 2, .planes = Planes::shared});
  BOOST_REQUIRE(!wrong.ok());
  BOOST_TEST(wrong.error() ==
             "with 2 rails it has 120001 NIC ports and switches and 120000 cables, more than 65536 and 262144");
}

BOOST_AUTO_TEST_CASE(check_wants_ways_within_a_plane_only) {
  Topology topology = railed(star(3, {}), 2, Planes::separate);
  topology.planes = Planes::shared;
  BOOST_TEST(check(topology).error() == "hosts n1.1 and n1.2 cannot reach each other: no way of cables joins them");
  topology.planes = Planes::separate;
  topology.cables.back().b = topology.hosts;  // n3.2 to s1
  BOOST_TEST(check(topology).error() == "hosts n1.2 and n3.2 cannot reach each other: no way of cables joins them");
  topology.hosts = 5;
  BOOST_TEST(check(topology).error() == "the topology has 5 hosts, which are no nodes of 2 rails");
}

BOOST_AUTO_TEST_CASE(a_node_and_a_switch_have_different_names) {
  Topology topology = railed(star(2, {}), 2, Planes::separate);
  topology.vertices.back().name = "n2";
  BOOST_TEST(check(topology).error() == "the name n2 is used twice");
}

BOOST_AUTO_TEST_CASE(frames_reach_the_rails_of_their_plane) {
  for (const Planes planes : {Planes::separate, Planes::shared}) {
    const Topology topology = railed(star(3, {}), 2, planes);
    const Network network(topology, {});
    const Reachability reached = network.reachability();
    for (std::uint32_t from = 0; from < topology.hosts; ++from)
      for (std::uint32_t to = 0; to < topology.hosts; ++to)
        BOOST_TEST(reached.reaches(from, to) ==
                   (planes == Planes::shared || topology.rail_of(from) == topology.rail_of(to)));
  }
}
