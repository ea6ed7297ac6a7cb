// Scenarios over InfiniBand: packets between an LRH and a VCRC, LIDs, lanes with credits.
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

std::string over_infiniband(const std::string& rest, const std::string& topology = "shape: star, hosts: 3",
                            const std::string& nic = "timeout: 8") {
  return "name: t\ntimeout: 5s\nwire: infiniband\ntopology: {" + topology + "}\nnic: {" + nic + "}\n" + rest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_verb_and_transport_works) {
  const Outcome outcome = test::run(
      over_infiniband("workloads:\n"
                      "  - {name: write, verb: write, from: n1, to: n2, size: 64KiB, count: 20, depth: 4}\n"
                      "  - {name: read, verb: read, from: n2, to: n3, size: 64KiB, count: 20, depth: 4}\n"
                      "  - {name: send, verb: send, from: n3, to: n1, size: 5000, count: 20, service-level: 5}\n"
                      "  - {name: add, verb: fetch-add, from: n1, to: n3, count: 20}\n"
                      "  - {name: uc, verb: send, transport: uc, from: n1, to: n2, size: 9000, count: 20}\n"
                      "  - {name: ud, verb: send, transport: ud, from: n2, to: n1, size: 2000, count: 20}\n"
                      "expect:\n  - data-intact\n"));
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST(outcome.violations_total == 0u, test::story(outcome));
  for (const WorkloadOutcome& workload : outcome.workloads) BOOST_TEST(workload.pairs_finished == 1u);
  BOOST_TEST(outcome.packets_overflowed + outcome.packets_lost + outcome.packets_vanished == 0u);
}

BOOST_AUTO_TEST_CASE(what_faults_do_is_mended_by_the_transport) {
  for (const char* const fault : {"drop 2%", "corrupt 2%", "duplicate 2%", "reorder by=3 2%", "delay by=5us 2%"}) {
    const Outcome outcome = test::run(
        over_infiniband(std::string("workloads:\n"
                                    "  - {name: w, verb: write, from: n1, to: n2, size: 64KiB, count: 100, depth: 4}\n"
                                    "faults:\n  - {packet: \"") +
                        fault + "\", link: \"n1->s1\", for: 1s}\nexpect:\n  - data-intact\n"));
    BOOST_TEST(outcome.held(), fault << ": " << test::story(outcome));
    BOOST_TEST(outcome.violations_total == 0u, fault << ": " << test::story(outcome));
    BOOST_TEST(outcome.faults[0].hits > 5u);
    BOOST_TEST(outcome.workloads[0].pairs_finished == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_dead_cable_ends_connections_unless_it_comes_back) {
  const std::string work =
      "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 4000, depth: 8}\n";
  const Outcome dead = test::run(over_infiniband(work + "faults:\n  - {link-down: n2-s1, at: 100us}\n",
                                                 "shape: star, hosts: 3", "timeout: 8, retry-count: 2"));
  BOOST_TEST(dead.workloads[0].statuses[12].number == 1u, test::story(dead));  // retry_exceeded
  const Outcome back = test::run(over_infiniband(work + "faults:\n  - {link-down: n2-s1, at: 100us, for: 300us}\n"
                                                        "expect:\n  - data-intact\n"));
  BOOST_TEST(back.held(), test::story(back));
  BOOST_TEST(back.workloads[0].pairs_finished == 1u);
}

BOOST_AUTO_TEST_CASE(same_seed_same_trace) {
  const std::string text =
      over_infiniband("workloads:\n  - {name: w, verb: write, pattern: all-to-all, size: 16KiB, count: 10, depth: 2}\n",
                      "shape: leaf-spine, leaves: 2, spines: 2, hosts-per-leaf: 3");
  const Outcome once = test::run(text, 3);
  BOOST_TEST(once.trace_hash == test::run(text, 3).trace_hash);
  BOOST_TEST(once.trace_hash != test::run(text, 4).trace_hash);
}

BOOST_AUTO_TEST_CASE(switches_that_cut_through_are_sooner_done) {
  const std::string workload =
      "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 10, depth: 1}\n";
  const std::string nic = "mtu: 4096";
  const std::string shape = "shape: line, hosts: 2";
  const Outcome stores = test::run(over_infiniband(workload, shape, nic));
  const Outcome cuts = test::run(over_infiniband(workload, shape + ", qos: {cut-through: true}", nic));
  BOOST_TEST((stores.held() && cuts.held()));
  BOOST_TEST_REQUIRE((stores.workloads[0].finished && cuts.workloads[0].finished));
  // Of ten packets, one after the other, each saves at two switches the 330 ns that it takes.
  BOOST_TEST(cuts.workloads[0].finished->ns < stores.workloads[0].finished->ns - 10 * 2 * 300);
}

BOOST_AUTO_TEST_CASE(what_is_ethernets_alone_is_refused) {
  const std::string workload = "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 1}\n";
  const std::string head = "name: t\nwire: infiniband\ntopology: {shape: star, hosts: 2";
  test::check_error(head + ", qos: {lossless: ^3}}\n" + workload, "InfiniBand's lanes have credits");
  test::check_error("name: t\nwire: infiniband\ntopology: ^{shape: star, hosts: 2, link: {ecn: 10KB}}\n" + workload,
                    "ECN or telemetry");
  test::check_error(head + ", spread: ^packet}\n" + workload, "send all packets for one port by one way");
  test::check_error(head + ", qos: {lane-buffer: ^4KiB}}\n" + workload, "want octets from 8KiB");
  test::check_error(head + "}\nnic: {wire: ^roce}\n" + workload, "on InfiniBand or none is");
  test::check_error("name: t\ntopology: {shape: star, hosts: 2}\nnic: {wire: ^infiniband}\n" + workload,
                    "on InfiniBand or none is");
  const std::string begin = "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 1, ";
  test::check_error(head + "}\n" + begin + "dscp: ^3}\n", "say service-level");
  test::check_error(head + "}\n" + begin + "wire: ^roce-v1}\n", "there is no RoCE");
  test::check_error(head + "}\n" + begin + "service-level: ^16}\n", "15");
  test::check_error("name: t\ntopology: {shape: star, hosts: 2}\n" + begin + "service-level: ^1}\n",
                    "needs wire: infiniband");
  test::check_error(
      "name: t\ntopology: {shape: star, hosts: 2, qos: ^{lane-buffer: 16KiB, head-of-queue-life: 1ms}}\n" + workload,
      "ports of InfiniBand alone");
  test::check_error("name: t\nwire: infiniband\ntopology: ^{shape: star, hosts: 2, managed: true}\n" + workload,
                    "needs clock: real");
  test::check_error("name: t\ntopology: {shape: star, hosts: 2, managed: ^true}\n" + workload,
                    "needs wire: infiniband");
}
