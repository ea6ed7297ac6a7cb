// Nodes with rails in a scenario: what their names stand for, and what is said about wrong ones.
#include <boost/test/unit_test.hpp>

#include "tests/scenarios/language/reading.h"

using namespace verbena;
using namespace verbena::scenarios;
using test::check_error;
using test::good;

namespace {

using Numbers = std::vector<std::uint32_t>;

const std::string kWorkload = "workloads: [{name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 10}]\n";

/// Three nodes of two rails; what is added begins in line 3.
std::string railed(const std::string& rest, const std::string& planes = "separate") {
  return "topology: {shape: star, hosts: 3, rails: 2, planes: " + planes + "}\n" + rest;
}
std::string faulty(const std::string& fault) {
  return railed(kWorkload + "faults:\n  - " + fault + "\n");
}
const fabric::ElementChange& change_of(const Scenario& scenario) {
  return std::get<fabric::ElementChange>(scenario.faults.at(0).what);
}
Workload workload_of(const std::string& words, const std::string& planes = "separate") {
  return good(railed("workloads: [{verb: write, size: 1, count: 1, " + words + "}]\n", planes)).workloads.at(0);
}
void check_workload_error(const std::string& words, std::string_view said) {
  check_error(railed("workloads: [{verb: write, size: 1, count: 1, " + words + "}]\n"), said);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_shape_has_rails_on_separate_planes_or_shared_ones) {
  const Scenario separate = good("topology: {shape: star, hosts: 3, rails: 2}\n" + kWorkload);
  BOOST_TEST(separate.topology.nodes() == 3u);
  BOOST_TEST(separate.topology.switches() == 2u);
  BOOST_TEST(separate.nics.size() == 6u);
  BOOST_TEST(good(railed(kWorkload, "shared")).topology.switches() == 1u);
  BOOST_TEST(good("topology: {shape: star, hosts: 3, rails: 1}\n" + kWorkload).topology.vertices[1].name == "n2");
}

BOOST_AUTO_TEST_CASE(explicit_nodes_have_rails_that_links_name) {
  const Scenario scenario = good(
      "topology:\n"
      "  nodes: [n1, n2]\n"
      "  rails: 2\n"
      "  switches: [s1, s2]\n"
      "  links:\n"
      "    - {between: [n1.1, s1]}\n"
      "    - {between: [n2.1, s1]}\n"
      "    - {between: [n1.2, s2]}\n"
      "    - {between: [s2, n2.2], rate: 1Gbps}\n" +
      kWorkload);
  BOOST_TEST(scenario.topology.cable_name(3) == "s2-n2.2");
  const Scenario direct = good("topology: {nodes: [n1, n2], rails: 2, links: [{between: [n1, n2]}]}\n" + kWorkload);
  BOOST_REQUIRE_EQUAL(direct.topology.cables.size(), 2u);
  BOOST_TEST(direct.topology.cable_name(1) == "n1.2-n2.2");
  check_error("topology: {nodes: [^n1.1, n2], rails: 2, links: [{between: [n1, n2]}]}\n" + kWorkload,
              "with rails a name has no '.'");
  check_error("topology: {nodes: [n1, n2], rails: 2, links: [{between: [n1, ^n2.3]}]}\n" + kWorkload,
              "n2 has the rails n2.1 and n2.2");
}

BOOST_AUTO_TEST_CASE(links_of_a_shape_with_rails_are_changed_by_name) {
  const Scenario scenario = good(
      "topology: {shape: star, hosts: 2, rails: 2, links: [{between: [n1.2, s2], rate: 1Gbps}, {between: [n2, s2], "
      "rate: 2Gbps}]}\n" +
      kWorkload);
  std::string rates;
  for (const fabric::Cable& cable : scenario.topology.cables)
    rates += std::to_string(cable.parameters.rate_bits_per_second / 1'000'000'000) + " ";
  BOOST_TEST(rates == "100 100 1 2 ");
}

BOOST_AUTO_TEST_CASE(wrong_rails_are_told_what_is_right) {
  check_error("topology: {shape: star, hosts: 2, rails: ^17}\n" + kWorkload, "a whole number from 1 to 16");
  check_error("topology: {shape: star, hosts: 2, rails: ^0}\n" + kWorkload, "a whole number from 1 to 16");
  check_error("topology: {shape: star, hosts: 2, planes: ^separate}\n" + kWorkload, "write rails: 2 as well");
  check_error("topology: {shape: star, hosts: 2, rails: 2, planes: ^apart}\n" + kWorkload, "separate, shared");
  check_error("topology: {shape: star, hosts: 60000, rails: ^2}\n" + kWorkload, "more than 65536");
}

BOOST_AUTO_TEST_CASE(a_workload_between_nodes_is_there_on_each_rail) {
  const Workload nodes = workload_of("from: [n1, n2], to: [n3, n1]");
  BOOST_TEST((nodes.from == Numbers{0, 2} && nodes.to == Numbers{4, 0} && nodes.rails == 2));
  const Workload rail = workload_of("from: n1.2, to: n2.2");
  BOOST_TEST((rail.from == Numbers{1} && rail.to == Numbers{3} && rail.rails == 1));
  const Workload all = workload_of("pattern: all-to-all");
  BOOST_TEST((all.from == Numbers{0, 2, 4} && all.rails == 2));
  const Workload crossed = workload_of("pattern: incast, from: [n1.1, n1.2], to: n2.1", "shared");
  BOOST_TEST((crossed.from == Numbers{0, 1} && crossed.rails == 1));
}

BOOST_AUTO_TEST_CASE(a_workload_names_nodes_or_rails_that_can_meet) {
  check_workload_error("from: n1.1, to: ^n2.2", "n1.1 and n2.2 are on separate planes");
  check_workload_error("pattern: all-to-all, among: ^[n1.1, n2.1, n3.2]", "n1.1 and n3.2 are on separate planes");
  check_workload_error("from: n1, to: ^n2.1", "are written on both sides");
  check_workload_error("pattern: all-to-all, among: [n1.1, ^n2]", "a node beside a rail");
  check_workload_error("from: n1, to: ^n2.3", "there is no such node; n2 has the rails n2.1 and n2.2");
  check_error("topology: {shape: star, hosts: 2}\nworkloads: [{verb: write, from: n1, to: ^n2.2, size: 1, count: 1}]\n",
              "there is no such node; n2 has one rail: write n2");
}

BOOST_AUTO_TEST_CASE(faults_name_a_rail_or_all_of_a_node) {
  BOOST_TEST(change_of(good(faulty("{link-down: n1.2-s2}"))).links.size() == 2u);
  const auto both = change_of(good(faulty("{link-down: n1}"))).links;
  BOOST_REQUIRE_EQUAL(both.size(), 4u);
  BOOST_TEST(both[0].cable == 0u);
  BOOST_TEST(both[2].cable == 3u);
  BOOST_TEST((change_of(good(faulty("{link-down: n1-s2}"))).links[0].cable == 3u));
  BOOST_TEST((change_of(good(faulty("{port-error: n2}"))).hosts == Numbers{2, 3}));
  BOOST_TEST((change_of(good(faulty("{port-error: n2.2}"))).hosts == Numbers{3}));
  BOOST_TEST((change_of(good(faulty("{partition: n1.1, peers: n2.1}"))).hosts == Numbers{0}));
  const Scenario removed = good(faulty("{device-removal: n2.2, at: 1ms, for: 1ms}"));
  BOOST_TEST((std::get<fabric::SoftwareFault>(removed.faults[0].what).hosts == Numbers{3}));
  const Scenario crashed = good(faulty("{node-crash: n2}"));
  BOOST_TEST((std::get<fabric::NodeChange>(crashed.faults[0].what).hosts == Numbers{2, 3}));
}

BOOST_AUTO_TEST_CASE(directions_of_rails_are_seen_from_their_node) {
  const auto links_of = [](const std::string& link) {
    return std::get<fabric::PacketRule>(good(faulty("{packet: drop, link: \"" + link + "\"}")).faults.at(0).what).links;
  };
  BOOST_TEST((links_of("n1->s2") == std::vector<fabric::LinkId>{{3, false}}));
  BOOST_TEST((links_of("s2->n1.2") == std::vector<fabric::LinkId>{{3, true}}));
  BOOST_TEST((links_of("n1") == std::vector<fabric::LinkId>{{0, false}, {3, false}}));
}

BOOST_AUTO_TEST_CASE(wrong_rails_in_faults_are_told_what_is_right) {
  check_error(faulty("{link-down: ^n1.3-s2}"), "there is no such link; n1 has the rails n1.1 and n1.2");
  check_error(faulty("{port-error: ^n1.3}"), "there is no such node; n1 has the rails n1.1 and n1.2");
  check_error(faulty("{link-down: ^n1.3}"), "; n1 has the rails n1.1 and n1.2");
  check_error(faulty("{node-crash: ^n1.2}"), "it is one rail, and a whole node is wanted: write n1");
  check_error(faulty("{port-error: [n1, ^n1.2]}"), "it is named twice");
}

BOOST_AUTO_TEST_CASE(a_counter_and_a_nic_are_those_of_a_rail_or_of_all) {
  const Scenario scenario =
      good(railed("nics: {n1.2: {mtu: 1024}, n1: {mtu: 2048}}\n" + kWorkload +
                  "expect: [{counter: tx_packets, of: n1, min: 1}, {counter: tx_packets, of: [n1.2], min: 1}]\n"));
  BOOST_TEST(scenario.nics[0].mtu() == 2048u);
  BOOST_TEST(scenario.nics[1].mtu() == 1024u);
  BOOST_TEST(scenario.nics[2].mtu() == 4096u);
  BOOST_TEST((scenario.expectations[0].hosts == Numbers{0, 1}));
  BOOST_TEST((scenario.expectations[1].hosts == Numbers{1}));
}

BOOST_AUTO_TEST_CASE(a_program_stands_on_a_node_and_knows_addresses_of_rails) {
  const auto program = [](const std::string& words) {
    return railed("clock: real\nworkloads: [{exec: " + words + "}]\n");
  };
  const Scenario scenario = good(program("\"sh ${n2} ${n2.2} ${n3.1}\", node: n3"));
  BOOST_TEST(scenario.programs.at(0).node == 2u);
  BOOST_TEST(
      (scenario.programs[0].arguments == std::vector<std::string>{"sh", "127.47.91.2", "127.47.92.2", "127.47.91.3"}));
  check_error(program("sh, node: ^n1.2"), "a whole node is wanted: write n1");
  check_error(program("sh, nodes: ^4"), "from 1 to 3");
}

BOOST_AUTO_TEST_CASE(a_list_in_nic_has_a_value_of_each_rail) {
  const Scenario scenario =
      good(railed(kWorkload + "nic: {speed: [100Gbps, 25Gbps]}\nnics: {n2: {speed: [1Gbps, 2Gbps]}, "
                              "n3.2: {speed: 5Gbps}}\n"));
  const std::vector<std::uint64_t> wanted{100, 25, 1, 2, 100, 5};
  for (std::size_t host = 0; host < wanted.size(); ++host)
    BOOST_TEST(scenario.nics.at(host).speed_bits_per_second.value() == wanted[host] * 1'000'000'000);
  check_error(railed(kWorkload + "nic: {speed: ^[1Gbps, 2Gbps, 3Gbps]}\n"),
              "speed has 3 values: give one for all, or one of each rail, of which there are 2");
  check_error(railed(kWorkload + "nic: {mtu: ^[1024, 512]}\n"), "mtu");
  check_error(railed(kWorkload + "nic: ^{numa: [0, 1]}\n"),
              "numa: only with clock: real there are programs that see it");
}
