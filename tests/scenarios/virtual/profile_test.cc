// What a scenario says of its NICs' micro-behaviour is what they do.
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Outcome incast(const std::string& nic, const std::string& expect) {
  return test::run(
      "name: t\ntimeout: 5s\nnic: {" + nic +
      "}\n"
      "topology: {shape: star, hosts: 3, link: {rate: 10Gbps, delay: 1us, queue: 1MiB, ecn: 16KiB}}\n"
      "workloads:\n  - {name: w, verb: write, from: [n1, n2], to: n3, pattern: incast, size: 16KiB, count: 20, depth: "
      "4}\n"
      "expect:\n" +
      expect);
}

}  // namespace

BOOST_AUTO_TEST_CASE(nic_with_a_cnp_interval_is_marked_and_notifies_the_sender) {
  const Outcome with = incast("cnp-interval: 4us",
                              "  - {counter: np_ecn_marked_roce_packets, of: n3, min: 20}\n"
                              "  - {counter: np_cnp_sent, of: n3, min: 2}\n"
                              "  - {counter: rp_cnp_handled, of: n1, min: 1}\n"
                              "  - {counter: rp_cnp_handled, of: n2, min: 1}\n");
  BOOST_TEST(with.held(), test::story(with));
  const Outcome seldom = incast("cnp-interval: 1s", "  - {counter: np_cnp_sent, of: n3, is: 2}\n");
  BOOST_TEST(seldom.held(), test::story(seldom));  // one for each of its two QPs
}

BOOST_AUTO_TEST_CASE(without_one_nothing_is_marked) {
  const Outcome outcome = incast("timeout: 14",
                                 "  - {counter: np_ecn_marked_roce_packets, is: 0}\n"
                                 "  - {counter: np_cnp_sent, is: 0}\n");
  BOOST_TEST(outcome.held(), test::story(outcome));
}

/// Eight senders, one port: without congestion control what they have in flight does not fit into its queue, and the
/// time goes into repeating it.
BOOST_AUTO_TEST_CASE(incast_fills_and_shares_the_port_only_with_dcqcn) {
  const auto run = [](const std::string& nic, const std::string& expect) {
    return test::run(
        "name: t\ntimeout: 5s\npayload: false\nnic: {mtu: 1024, " + nic +
        "}\n"
        "topology: {shape: star, hosts: 9, link: {rate: 40Gbps, delay: 1us, queue: 1MiB, "
        "ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%}}}\n"
        "workloads:\n  - {name: w, verb: write, pattern: incast, from: [n1, n2, n3, n4, n5, n6, n7, n8], to: n9, "
        "size: 256KiB, duration: 20ms, depth: 4}\n"
        "expect:\n" +
        expect);
  };
  const Outcome without = run("congestion-control: none", "  - {throughput: w, max: 20Gbps}\n");
  BOOST_TEST(without.held(), test::story(without));
  const Outcome with = run("congestion-control: dcqcn",
                           "  - {throughput: w, min: 30Gbps}\n"
                           "  - {counter: rp_cnp_handled, of: n1, min: 5}\n"
                           "  - {counter: rp_cnp_handled, of: n8, min: 5}\n");
  BOOST_TEST(with.held(), test::story(with));
}

BOOST_AUTO_TEST_CASE(acknowledge_every_bounds_the_packets_between_acks) {
  for (const auto& [nic, least, most] : {std::tuple{"mtu: 1024, acknowledge-every: 4", 320, 1280},
                                         std::tuple{"mtu: 1024, acknowledge-every: 0", 20, 60}}) {
    const Outcome outcome =
        test::run(test::star(2,
                             "workloads:\n  - {name: w, from: n1, to: n2, verb: write, size: 64KiB, count: 20}\n"
                             "expect:\n  - {counter: tx_acknowledges, of: n2, min: " +
                                 std::to_string(least) + ", max: " + std::to_string(most) + "}\n",
                             nic));
    BOOST_TEST(outcome.held(), test::story(outcome));
  }
}

BOOST_AUTO_TEST_CASE(slow_page_faults_make_peers_wait_and_change_nothing_else) {
  for (const char* verb : {"write", "read", "send", "fetch-add"}) {
    const Outcome outcome =
        test::run(test::star(2,
                             "workloads:\n  - {name: w, from: n1, to: n2, verb: " + std::string(verb) + ", count: 40" +
                                 (std::string(verb) == "fetch-add" ? "" : ", size: 64KiB") +
                                 "}\n"
                                 "expect:\n  - {counter: page_faults, of: n2, min: 1}\n"
                                 "  - {counter: rnr_nak_sent, of: n2, min: 1}\n",
                             "page-fault-delay: 50us, min-rnr-timer: 5"));
    BOOST_TEST(outcome.held(), test::story(outcome));
  }
}
