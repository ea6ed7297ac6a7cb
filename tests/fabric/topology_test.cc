// The shapes, and what check() refuses.
#include "emulator/fabric/topology.h"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "emulator/fabric/shape_table.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

struct Size {
  std::uint32_t hosts, switches;
  std::size_t cables;
  bool operator==(const Size&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Size& size) {
  return out << size.hosts << " hosts " << size.switches << " switches " << size.cables << " cables";
}
Size size_of(const Topology& topology) {
  const auto checked = check(topology);
  BOOST_TEST(checked.ok(), (checked.ok() ? "" : checked.error()));
  return {topology.hosts, topology.switches(), topology.cables.size()};
}
std::string objection_to(Topology topology, const std::function<void(Topology&)>& spoil) {
  BOOST_TEST_REQUIRE(check(topology).ok());
  spoil(topology);
  const auto checked = check(topology);
  return checked.ok() ? "" : checked.error();
}
/// Hosts with cables and no switch.
Topology direct(std::uint32_t hosts, std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> cables) {
  Topology topology;
  topology.hosts = hosts;
  for (std::uint32_t i = 1; i <= hosts; ++i) topology.vertices.push_back({"n" + std::to_string(i), VertexKind::host});
  for (const auto& [a, b] : cables) topology.cables.push_back({a, b, {}});
  return topology;
}

}  // namespace

BOOST_AUTO_TEST_CASE(shapes_have_the_hosts_switches_and_cables_of_their_names) {
  BOOST_TEST(size_of(star(5, {})) == (Size{5, 1, 5}));
  BOOST_TEST(size_of(star(1, {})) == (Size{1, 1, 1}));
  BOOST_TEST(size_of(line(4, {})) == (Size{4, 4, 4 + 3}));
  BOOST_TEST(size_of(ring(4, {})) == (Size{4, 4, 4 + 4}));
  BOOST_TEST(size_of(ring(2, {})) == (Size{2, 2, 2 + 1}));
  BOOST_TEST(size_of(full_mesh(5, {})) == (Size{5, 5, 5 + 10}));
  BOOST_TEST(size_of(dumbbell(3, {})) == (Size{6, 2, 6 + 1}));
  BOOST_TEST(size_of(leaf_spine({.leaves = 4, .spines = 3, .hosts_per_leaf = 5}, {})) == (Size{20, 7, 20 + 12}));
  BOOST_TEST(
      size_of(clos({.pods = 5, .racks_per_pod = 4, .hosts_per_rack = 16, .aggregations_per_pod = 4, .cores_per_row = 4},
                   {})) == (Size{320, 20 + 20 + 16, 320 + 80 + 80}));
  BOOST_TEST(size_of(fat_tree(4, {})) == (Size{16, 20, 16 + 16 + 16}));
  BOOST_TEST(size_of(fat_tree(16, {})) == (Size{1024, 320, 3 * 1024}));
}

BOOST_AUTO_TEST_CASE(shapes_use_host_cables_to_hosts_and_others_between_switches) {
  ShapeParameters parameters;
  parameters.host_cable.rate_bits_per_second = 1;
  parameters.trunk.rate_bits_per_second = 2;
  for (const Topology& topology : {dumbbell(3, parameters), fat_tree(4, parameters), ring(5, parameters)})
    for (const Cable& cable : topology.cables)
      BOOST_TEST(cable.parameters.rate_bits_per_second == (topology.is_host(cable.a) ? 1u : 2u));
}

BOOST_AUTO_TEST_CASE(shape_is_found_by_name_and_has_the_hosts_asked_for) {
  std::uint32_t found = 0;
  for (const Shape& shape : shapes()) {
    BOOST_TEST(find_shape(shape.name) == &shape);
    BOOST_TEST((shape_names().find(shape.name) != std::string::npos));
    BOOST_TEST(shape.keys.size() <= kShapeKeysMax);
    for (std::uint32_t hosts = 2; hosts <= 130; ++hosts) {
      const auto sizes = shape.sizes_of(hosts);
      BOOST_TEST((sizes || !shape.hosts_text.empty()));
      if (!sizes) continue;
      ++found;
      BOOST_TEST(size_of(shape.make(*sizes, {})).hosts == hosts);
    }
  }
  BOOST_TEST(found ==
             4 * 129u + 2 * 65u + 32u + 4u);  // even: two shapes; by four: a Clos network; 2, 16, 54 or 128: a fat tree
  BOOST_TEST(find_shape("torus") == nullptr);
}

BOOST_AUTO_TEST_CASE(hosts_may_be_joined_without_a_switch) {
  BOOST_TEST(check(direct(2, {{0, 1}})).ok());
  BOOST_TEST(check(direct(3, {{0, 1}, {1, 2}, {2, 0}})).ok());
}

BOOST_AUTO_TEST_CASE(no_cable_of_a_host_is_faster_than_its_nic) {
  constexpr std::uint64_t kGbps = 1'000'000'000;
  ShapeParameters parameters;
  parameters.host_cable.rate_bits_per_second = 100 * kGbps;
  Topology topology = star(4, parameters);
  topology.cables[topology.cables_of(2).front()].parameters.rate_bits_per_second = 0;
  topology.slow_to_nic(0, 25 * kGbps);
  topology.slow_to_nic(1, 400 * kGbps);
  topology.slow_to_nic(2, 10 * kGbps);
  topology.slow_to_nic(3, 0);
  BOOST_TEST((topology.port_rates() == std::vector<std::uint64_t>{25 * kGbps, 100 * kGbps, 10 * kGbps, 100 * kGbps}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_built_is_refused_in_one_line) {
  const Topology good = star(3, {});
  BOOST_TEST(objection_to(good, [](Topology& t) { t.vertices[1].name = "n1"; }) == "the name n1 is used twice");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].b = 99; }) == "cable 0 leads to nowhere");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].b = 0; }) == "a cable leads from n1 to itself");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables.pop_back(); }) == "host n3 has no cable");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables.push_back({0, 1, {}}); }) ==
             "host n1 has 2 cables; beside switches a host has one");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables.push_back(t.cables[0]); }) ==
             "there are two cables between n1 and s1");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.hosts = 0; }) == "the topology has no hosts");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[1].parameters.queue_bytes = 0; }) ==
             "cable n2-s1 has no queue");
  BOOST_TEST(objection_to(good, [](Topology& t) {
               t.cables[1].parameters = {.rate_bits_per_second = 0, .propagation = {}};
             }) == "cable n2-s1 takes no time at all: it needs a rate or a delay");
  BOOST_TEST(objection_to(dumbbell(2, {}), [](Topology& t) { t.cables.pop_back(); }) ==
             "hosts n1 and n3 cannot reach each other: no way of cables joins them");
  BOOST_TEST(objection_to(direct(3, {{0, 1}, {1, 2}, {2, 0}}), [](Topology& t) { t.cables.pop_back(); }) ==
             "hosts n1 and n3 cannot reach each other: there is neither a switch nor a cable between them");
}

namespace {
Topology managed(Topology topology) {
  topology.medium = wire::Medium::infiniband;
  topology.qos = infiniband_qos();
  topology.is_managed = true;
  return topology;
}
}  // namespace

BOOST_AUTO_TEST_CASE(ports_are_counted_in_the_order_of_a_vertex_s_cables) {
  const Topology net = leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}, {});
  for (std::uint32_t vertex = 0; vertex < net.vertices.size(); ++vertex) {
    const std::vector<std::uint32_t> cables = net.cables_of(vertex);
    for (std::uint32_t i = 0; i < cables.size(); ++i) {
      BOOST_TEST(net.port_of(cables[i], vertex) == i + 1);
      BOOST_TEST((net.cable_at(vertex, i + 1) == cables[i]));
    }
    BOOST_TEST(!net.cable_at(vertex, 0).has_value());
    BOOST_TEST(!net.cable_at(vertex, static_cast<std::uint32_t>(cables.size()) + 1).has_value());
  }
}

BOOST_AUTO_TEST_CASE(cable_may_say_which_ports_it_is_in) {
  Topology net = dumbbell(2, {});  // n1 and n2 at s1, n3 and n4 at s2, s1-s2 the last cable
  const std::uint32_t s1 = 4, s2 = 5, trunk = 4;
  net.cables[trunk].port_a = 36;
  net.cables[1].port_b = 7;
  BOOST_TEST(check(net).ok());
  BOOST_TEST(net.port_of(trunk, s1) == 36u);
  BOOST_TEST(net.port_of(trunk, s2) == 3u);
  BOOST_TEST(net.port_of(1, s1) == 7u);
  BOOST_TEST(net.port_of(1, 1) == 1u);
  BOOST_TEST((net.cable_at(s1, 36) == trunk));
  BOOST_TEST((net.cable_at(s1, 7) == 1u));
  BOOST_TEST((net.cable_at(s2, 3) == trunk));
  BOOST_TEST(!net.cable_at(s1, 2).has_value());
}

BOOST_AUTO_TEST_CASE(two_cables_in_one_port_are_refused) {
  const Topology good = star(3, {});
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].port_b = t.cables[2].port_b = 9; }) ==
             "there are two cables in port 9 of s1");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].port_b = 2; }) == "there are two cables in port 2 of s1");
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].port_b = 255; }) ==
             "s1 has a port 255, and the last one is 254");
}

BOOST_AUTO_TEST_CASE(managed_subnet_is_infiniband_with_ports_that_have_a_number) {
  BOOST_TEST(objection_to(star(3, {}), [](Topology& t) { t.is_managed = true; }) ==
             "a subnet manager needs InfiniBand");
  const Topology good = managed(star(3, {}));
  BOOST_TEST(objection_to(good, [](Topology& t) { t.cables[0].port_a = 2; }) ==
             "host n1 has a port 2; in a managed subnet it has port 1 alone");
  BOOST_TEST(objection_to(good, [](Topology& t) { t = managed(star(255, {})); }) ==
             "s1 has a port 255, and the last one is 254");
  BOOST_TEST(objection_to(good, [](Topology& t) { t = managed(direct(3, {{0, 1}, {1, 2}, {2, 0}})); }) ==
             "host n2 has a port 2; in a managed subnet it has port 1 alone");
  BOOST_TEST(check(managed(star(254, {}))).ok());
  BOOST_TEST(check(managed(direct(2, {{0, 1}}))).ok());
  BOOST_TEST(check(managed(fat_tree(4, {}))).ok());
  BOOST_TEST(check(star(1000, {})).ok());
}
