// Flows: they come as the load says, end with their octets where they belong, and their slowdown is measured by what
// the network does with one that is alone.
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/outcome/report.h"
#include "scenarios/outcome/size_bins.h"
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

BOOST_AUTO_TEST_CASE(size_bins_have_a_tenth_each_and_the_last_one_the_rest) {
  const auto bins = [](const std::string& keys) {
    return size_bins(test::good("topology: {shape: star, hosts: 2}\nworkloads:\n"
                                "  - {name: w, verb: write, from: n1, to: n2, count: 1, " +
                                keys + "}\n")
                         .workloads.at(0));
  };
  using Sizes = std::vector<std::uint32_t>;
  BOOST_TEST((bins("load: 5%, size: {cdf: [[0, 0%], [10, 50%], [20, 55%], [30, 62%], [40, 99%], [50, 100%]]}") ==
              Sizes{10, 30, 40, 50}));
  BOOST_TEST((bins("load: 5%, size: [{size: 64, weight: 1}, {from: 1, to: 100, weight: 3}, {size: 9KB, weight: 1}]") ==
              Sizes{64, 100, 9000}));
  BOOST_TEST(bins("load: 5%, size: {from: 1, to: 9KB}").empty());
  BOOST_TEST(bins("load: 5%, size: 9KB").empty());
  BOOST_TEST(bins("size: [{size: 64, weight: 1}, {size: 9KB, weight: 1}]").empty());
}

BOOST_AUTO_TEST_CASE(slowdown_and_latency_are_known_by_size) {
  const Scenario scenario = test::good(
      "name: t\ntimeout: 5s\ntopology: {shape: star, hosts: 4, link: {rate: 10Gbps}}\nnic: {mtu: 1024}\nworkloads:\n"
      "  - {name: w, verb: write, pattern: all-to-all, load: 60%, duration: 30ms, "
      "size: {cdf: [[1KB, 0%], [2KB, 60%], [20KB, 90%], [90KB, 100%]]}}\n"
      "  - {name: plain, verb: write, from: n1, to: n2, size: 64, count: 5}\n"
      "expect:\n"
      "  - {slowdown: w, size-until: 2KB, percentile: 99, min: 1}\n"
      "  - {slowdown: w, size-from: 2001, size-until: 20KB, percentile: 99, min: 1}\n"
      "  - {slowdown: w, size-from: 20001, percentile: 99, min: 1}\n"
      "  - {latency: w, size-until: 2KB, percentile: 0, min: 1ns}\n"
      "  - {latency: w, size-from: 20KB, percentile: 0, min: 1ns}\n"
      "  - {slowdown: w, size-from: 100KB, min: 1}\n"
      "  - {latency: plain, size-until: 64, percentile: 100, min: 1ns}\n");
  const Outcome outcome = run_virtual(scenario, {});
  const WorkloadOutcome& flows = outcome.workloads.at(0);
  BOOST_TEST_REQUIRE(flows.by_size.size() == 3u);
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const LatencyHistogram& slowdown = flows.by_size[i].slowdown;
    counted += slowdown.count();
    BOOST_TEST(test::held(outcome, i), test::story(outcome));
    BOOST_TEST(outcome.expectations[i].value.value_or(0) == static_cast<double>(slowdown.percentile(99)) / 1000);
  }
  BOOST_TEST(counted == flows.slowdown.count());
  BOOST_TEST(std::abs(static_cast<double>(flows.by_size[0].slowdown.count()) / static_cast<double>(counted) - 0.6) <
             0.05);
  // 20 KB take 16 us on each of two cables.
  BOOST_TEST(outcome.expectations[3].value.value_or(0) < 10'000);
  BOOST_TEST(outcome.expectations[4].value.value_or(0) > 16'000);
  BOOST_TEST(!test::held(outcome, 5), "there are none");
  BOOST_TEST(outcome.expectations[6].value.value_or(0) == static_cast<double>(outcome.workloads.at(1).latency.most()));
  BOOST_TEST(outcome.workloads.at(1).by_size.empty());

  BOOST_TEST(report_text(scenario, outcome).find("flows by size") != std::string::npos);
  const auto json = nlohmann::json::parse(report_json(scenario, outcome));
  BOOST_TEST(json["workloads"][0]["by_size"].size() == 3u);
  BOOST_TEST(json["workloads"][0]["by_size"][1]["octets_most"] == 20'000);
  BOOST_TEST(json["workloads"][0]["by_size"][1]["slowdown"]["count"] == flows.by_size[1].slowdown.count());
  BOOST_TEST(!json["workloads"][1].contains("by_size"));
}
