// Workloads over rails under virtual time: each rail has its own traffic, and faults of one leave the other alone.
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Outcome over_rails(const std::string& workload, const std::string& rest = {}, const std::string& planes = "separate") {
  return test::run("name: t\ntimeout: 5s\ntopology: {shape: star, hosts: 4, rails: 2, planes: " + planes +
                   "}\nnic: {timeout: 8, retry-count: 1}\nworkloads: [{name: w, " + workload + "}]\n" + rest);
}
const std::string kWrites = "verb: write, size: 4KiB, count: 100";

}  // namespace

BOOST_AUTO_TEST_CASE(each_pattern_is_there_once_on_each_rail) {
  struct Case {
    std::string words;
    std::uint64_t pairs;
  };
  const Case cases[] = {{"from: n1, to: n2", 2},
                        {"pattern: incast, from: [n2, n3], to: n1", 4},
                        {"pattern: outcast, from: n1, to: [n2, n3, n4]", 6},
                        {"pattern: all-to-all", 24},
                        {"pattern: permutation", 8},
                        {"from: n1.2, to: n2.2", 1}};
  for (const Case& one : cases)
    for (const char* planes : {"separate", "shared"}) {
      const Outcome outcome = over_rails(kWrites + ", " + one.words, "expect: [data-intact]\n", planes);
      BOOST_TEST_CONTEXT(one.words) {
        BOOST_TEST(outcome.held(), test::story(outcome));
        BOOST_TEST(outcome.workloads.at(0).pairs == one.pairs);
        BOOST_TEST(outcome.workloads.at(0).statuses[0].number == 100 * one.pairs);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_ring_allreduce_has_a_ring_on_each_rail) {
  const Outcome outcome = over_rails("verb: write, pattern: ring-allreduce, size: 64KiB, count: 2",
                                     "expect: [data-intact, {survivors: w, is: 8}]\n");
  BOOST_TEST(outcome.held(), test::story(outcome));
}

BOOST_AUTO_TEST_CASE(both_rails_carry_as_much) {
  const Outcome outcome = over_rails(kWrites + ", from: n1, to: n2",
                                     "expect:\n"
                                     "  - {counter: tx_packets, of: n1.1, is: 100}\n"
                                     "  - {counter: tx_packets, of: n1.2, is: 100}\n"
                                     "  - {counter: tx_packets, of: n1, is: 200}\n");
  BOOST_TEST(outcome.held(), test::story(outcome));
}

BOOST_AUTO_TEST_CASE(a_dead_rail_fails_alone_and_a_dead_node_whole) {
  const auto survivors = [](const std::string& fault, int number) {
    const Outcome outcome = over_rails(
        "verb: write, size: 4KiB, count: 10000, from: n1, to: n2",
        "faults: [{" + fault + ", at: 10us}]\nexpect: [{survivors: w, is: " + std::to_string(number) + "}]\n");
    BOOST_TEST(outcome.held(), fault << "\n" << test::story(outcome));
  };
  survivors("link-down: n1.1-s1", 1);
  survivors("port-error: n2.2", 1);
  survivors("switch-crash: s2", 1);
  survivors("partition: n1.2, peers: n2.2", 1);
  survivors("device-removal: n1.2", 1);
  survivors("link-down: n1", 0);
  survivors("node-crash: n2", 0);
  survivors("partition: n1, peers: n2", 0);
  survivors("partition: n1.1, peers: n2.2", 2);
}
