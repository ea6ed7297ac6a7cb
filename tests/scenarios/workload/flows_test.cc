// Flows: they come as the load says, end with their octets where they belong, and their slowdown is measured by what
// the network does with one that is alone.
#include <cmath>

#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Outcome run_flows(const std::string& topology, const std::string& nic, const std::string& workload,
                  const std::string& rest = "") {
  return test::run("name: t\ntimeout: 5s\ntopology: " + topology + "\nnic: {" + nic + "}\nworkloads:\n  - {" +
                   workload + "}\n" + rest);
}

/// A flow every millisecond or so: none meets another one.
void check_alone(const std::string& topology, const std::string& nic, const std::string& flow) {
  const Outcome outcome = run_flows(topology, nic, "name: w, load: 0.1%, count: 10, " + flow);
  BOOST_TEST_CONTEXT(topology << " " << nic << " " << flow) {
    BOOST_TEST(outcome.held(), test::story(outcome));
    const WorkloadOutcome& flows = outcome.workloads.at(0);
    BOOST_TEST(flows.slowdown.count() == 10u);
    BOOST_TEST(flows.slowdown.least() == 1000u);
    BOOST_TEST(flows.slowdown.most() == 1000u);
  }
}

constexpr const char* kFast = "{shape: fat-tree, k: 4, link: {rate: 40Gbps, delay: 2us}}";

}  // namespace

BOOST_AUTO_TEST_CASE(a_flow_that_is_alone_is_not_slowed_down) {
  for (const std::string size : {"1", "1000", "1024", "1025", "2048", "3001", "64KiB", "1MB"})
    for (const std::string verb : {"send", "write", "write-imm"})
      check_alone(kFast, "mtu: 1024", "verb: " + verb + ", from: n1, to: n16, size: " + size);
  check_alone(kFast, "mtu: 4096, acknowledge-latency: 3us", "verb: write, from: n1, to: n2, size: 100KB");
  check_alone("{shape: dumbbell, hosts: 2, link: {rate: 100Gbps}, trunk: {rate: 10Gbps}}", "mtu: 1024",
              "verb: write, from: n1, to: n3, size: 100KB");
  check_alone("{shape: dumbbell, hosts: 2, link: {rate: 10Gbps}, trunk: {rate: 100Gbps}}", "mtu: 1024",
              "verb: send, from: n1, to: n3, size: 100KB");
  check_alone(kFast, "mtu: 1024, speed: 10Gbps", "verb: write, from: n1, to: n16, size: 100KB");
  check_alone("{shape: star, hosts: 2, link: {rate: 1Gbps, delay: 0ns}}", "mtu: 256",
              "verb: write, from: n1, to: n2, size: 5000");
}

BOOST_AUTO_TEST_CASE(a_load_is_a_share_of_the_port) {
  const Outcome outcome = run_flows(
      "{shape: star, hosts: 4, link: {rate: 10Gbps, queue: 16MiB}}", "mtu: 1024",
      "name: w, verb: write, pattern: all-to-all, load: 40%, size: {cdf: [[1KB, 0%], [20KB, 80%], [200KB, 100%]]}, "
      "duration: 300ms, check: no");
  BOOST_TEST(outcome.held(), test::story(outcome));
  const WorkloadOutcome& flows = outcome.workloads.at(0);
  const double seconds = 0.3;
  // 4 hosts, 4 Gb/s each; some 7500 flows of 30 KB in the mean.
  BOOST_TEST(std::abs(static_cast<double>(flows.octets) * 8 / seconds / 16e9 - 1) < 0.05);
  BOOST_TEST(flows.slowdown.count() == flows.latency.count());
  BOOST_TEST(flows.slowdown.least() >= 1000u);
  BOOST_TEST(flows.slowdown.mean() > 1100);
}

BOOST_AUTO_TEST_CASE(each_source_sends_its_count_and_every_octet_is_verified) {
  const Outcome outcome =
      run_flows("{shape: star, hosts: 3, link: {rate: 10Gbps}}", "mtu: 1024, timeout: 8",
                "name: w, verb: send, pattern: all-to-all, load: 60%, size: {from: 1, to: 20KB}, count: 50, qps: 2",
                "faults:\n  - {packet: \"drop 1%\", link: all}\n");
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST(outcome.workloads.at(0).latency.count() == 150u);
  BOOST_TEST(outcome.workloads.at(0).verified_messages == 150u);
}

BOOST_AUTO_TEST_CASE(a_flow_may_have_a_qp_of_its_own) {
  const std::string workload =
      "name: w, verb: write, pattern: all-to-all, load: 60%, size: 20KB, count: 40, qps: 2, qp-reuse: ";
  const std::string star = "{shape: star, hosts: 3, link: {rate: 10Gbps}}";
  const Outcome own = run_flows(star, "mtu: 1024", workload + "no");
  const Outcome pool = run_flows(star, "mtu: 1024", workload + "yes");
  for (const Outcome* outcome : {&own, &pool}) {
    BOOST_TEST(outcome->held(), test::story(*outcome));
    BOOST_TEST(outcome->workloads.at(0).latency.count() == 120u);
    BOOST_TEST(outcome->workloads.at(0).verified_messages == 120u);
  }
  BOOST_TEST(own.trace_hash != pool.trace_hash);
}

BOOST_AUTO_TEST_CASE(headers_of_selective_repeat_arrive_without_payload) {
  for (const std::string negotiates : {"true", "false"}) {
    const Outcome outcome = test::run(
        "payload: false\ntopology: {shape: star, hosts: 3, link: {rate: 10Gbps}}\n"
        "nic: {mtu: 1024, loss-recovery: selective-repeat, bdp-window: 20, recovery-negotiation: " +
        negotiates +
        "}\nworkloads:\n"
        "  - {name: w, verb: write, pattern: all-to-all, load: 60%, size: {from: 1, to: 20KB}, count: 50, qp-reuse: "
        "no}\n"
        "faults:\n  - {packet: \"drop 1%\", link: all}\n");
    BOOST_TEST(outcome.held(), test::story(outcome));
    BOOST_TEST(outcome.workloads.at(0).latency.count() == 150u);
  }
}

BOOST_AUTO_TEST_CASE(flows_repeat_with_the_seed) {
  const auto hash = [](std::uint64_t seed) {
    return test::run(test::star(4,
                                "workloads:\n  - {name: w, verb: write, pattern: all-to-all, load: 50%, size: 9KB, "
                                "count: 30, qp-reuse: no}\n"),
                     seed)
        .trace_hash;
  };
  BOOST_TEST(hash(1) == hash(1));
  BOOST_TEST(hash(1) != hash(2));
}

BOOST_AUTO_TEST_CASE(flows_outlive_crashes_of_either_end) {
  const std::string workload =
      "workloads:\n  - {name: w, verb: write, pattern: all-to-all, load: 50%, size: 9KB, count: 200}\n";
  for (const std::string node : {"n1", "n2"}) {
    const Outcome outcome = test::run(test::star(
        3, workload + "faults:\n  - {node-crash: " + node + ", at: 100us, for: 20ms}\nexpect:\n  - {finished: w}\n",
        "timeout: 8, retry-count: 3"));
    BOOST_TEST(outcome.held(), test::story(outcome));
    // What the crashed host had sent is sent again.
    BOOST_TEST(outcome.workloads.at(0).statuses.at(0).number >= 600u);
  }
}
