// The `qos:` of a topology, and what goes with it: DSCPs of NICs and workloads, and the storms that need it.
#include <boost/test/unit_test.hpp>

#include "tests/scenarios/language/reading.h"

using namespace verbena;
using namespace verbena::test;

namespace {

std::string with_qos(const std::string& qos, const std::string& rest = "") {
  return "name: t\n"
         "topology: {shape: star, hosts: 3, qos: " +
         in_braces(qos) +
         "}\n"
         "workloads:\n"
         "  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 10}\n" +
         rest;
}
fabric::Qos good_qos(const std::string& qos) {
  std::string text = with_qos(qos);
  std::erase(text, '^');
  const auto read = good(text).topology.qos;
  BOOST_TEST_REQUIRE(read.has_value());
  return *read;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_qos_there_is_none) {
  BOOST_TEST(!good(with("")).topology.qos.has_value());
}

BOOST_AUTO_TEST_CASE(lists_and_maps_are_what_yaml_writes) {
  const fabric::Qos qos = good_qos("lossless: [3, 4], dscp: {26: 3, 48: 6}, weights: {0: 1, 3: 4}, xoff: 100KB");
  BOOST_TEST(int{qos.lossless} == 0x18);
  BOOST_TEST(int{qos.class_of_dscp[48]} == 6);
  BOOST_TEST(qos.weights[3] == 4u);
  BOOST_TEST(qos.xoff.at(0) == 100'000u);
  BOOST_TEST(int{good_qos("lossless: 3").lossless} == 0x08);
  BOOST_TEST(int{good_qos("lossless: all, pause: global").lossless} == 0xff);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_with_its_place) {
  check_error(with_qos("lossless: ^8"), "lossless '8' is not understood: want classes from 0 to 7");
  check_error(with_qos("lossless: 3, ^xof: 3"), "unknown key 'xof'");
  check_error(with_qos("lossless: 3, xoff: 10KB, xon-offset: 20KB"), "xon would lie below nothing");
  check_error(with_qos("lossless: 3, headroom: 20MB"), "headroom 20000000 is above buffer");
  check_error(with_qos("dscp: ^{26: 8}"), "want DSCP:CLASS");
  check_error(with_qos("xoff: 10KB, xoff-alpha: ^1/8"), "xoff");
}

BOOST_AUTO_TEST_CASE(a_dscp_is_the_workloads_or_the_nics) {
  const auto scenario = good(
      "name: t\n"
      "topology: {shape: star, hosts: 3}\n"
      "nic: {dscp: 26, cnp-dscp: 48}\n"
      "nics: {n2: {dscp: 0}}\n"
      "workloads:\n"
      "  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 10, dscp: 10}\n");
  BOOST_TEST(int{scenario.nics[0].dscp} == 26);
  BOOST_TEST(int{scenario.nics[0].cnp_dscp} == 48);
  BOOST_TEST(int{scenario.nics[1].dscp} == 0);
  BOOST_TEST(int{scenario.workloads[0].dscp} == 10);
}

BOOST_AUTO_TEST_CASE(a_pause_storm_needs_somebody_who_listens) {
  check_error(with("faults: [^{pause-storm: n3}]\n"), "this topology has no traffic classes");
  check_error(with("wire: infiniband\nfaults: [^{pause-storm: n3}]\n"), "InfiniBand has credits, and nobody pauses");
  std::string text = with_qos("lossless: 3", "faults: [{pause-storm: n3, class: [3, 4], at: 1ms, for: 2ms}]\n");
  std::erase(text, '^');
  const auto scenario = good(text);
  BOOST_TEST_REQUIRE(scenario.faults.size() == 2u);
  for (const scenarios::Fault& fault : scenario.faults)
    BOOST_TEST(int{std::get<fabric::ElementChange>(fault.what).classes} == 0x18);
}
