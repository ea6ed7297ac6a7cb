// Every kind of expectation holds where it should and fails where it should.
#include <tuple>

#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

constexpr const char* kTraffic =
    "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 100, depth: 4}\n";

void check(const std::string& expectation, bool wanted, const std::string& faults = "") {
  BOOST_TEST_CONTEXT(expectation) {
    const Outcome outcome = test::run(
        test::star(2, kTraffic + faults + "expect:\n  - " + expectation + "\n", "timeout: 8, retry-count: 2"));
    BOOST_TEST(test::held(outcome, 0) == wanted, test::story(outcome));
    if (!wanted) BOOST_TEST(!outcome.held());
    if (wanted) BOOST_TEST(outcome.held(), test::story(outcome));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_kind_can_hold_and_can_fail) {
  check("{completions: w, is: 100}", true);
  check("{completions: w, is: 99}", false);
  check("{completions: w, min: 1, until: 1us}", false);
  check("{completions: w, status: retry_exceeded, min: 1}", false);
  check("{throughput: w, min: 1Gbps, max: 100Gbps}", true);
  check("{throughput: w, min: 100Gbps}", false);
  check("{latency: w, percentile: 99, max: 1ms}", true);
  check("{latency: w, percentile: 50, max: 1us}", false);
  check("{latency: w, mean: yes, max: 1ms, name: mean}", true);
  check("{latency: w, mean: yes, max: 1us}", false);
  check("{counter: rx_write_requests, of: n2, min: 100}", true);
  check("{counter: rx_read_requests, min: 1}", false);
  check("{qp-state: w, state: rts}", true);
  check("{qp-state: w, state: error, side: target}", false);
  check("data-intact", true);
  check("{silence: n1, from: 1s}", true);
  check("{silence: n1, until: 10us}", false);
  check("{finished: w, within: 1ms}", true);
  check("{finished: w, within: 1us}", false);
  check("{survivors: w, is: 1}", true);
  check("{survivors: w, is: 0}", false);
  check("{checker: msn, is: 0}", true);
  check("{checker: msn, min: 1}", false);
  check("{checker: all, is: 0}", true);
  check("{checker: all, min: 1}", false);
}

BOOST_AUTO_TEST_CASE(flows_have_a_slowdown_that_can_hold_and_fail) {
  const auto is_held = [](const std::string& bounds) {
    return test::held(test::run(test::star(2,
                                           "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, "
                                           "count: 100, load: 80%}\nexpect:\n  - {slowdown: w, " +
                                               bounds + "}\n")),
                      0);
  };
  BOOST_TEST(is_held("mean: yes, min: 1.05, max: 4"));
  BOOST_TEST(!is_held("mean: yes, max: 1.05"));
  BOOST_TEST(is_held("percentile: 0, min: 1, max: 1.03"));
  BOOST_TEST(!is_held("percentile: 99, max: 1.5"));
}

BOOST_AUTO_TEST_CASE(round_trips_are_those_that_congestion_control_measures) {
  // Four cables of 1 us, the request of 1098 octets once more at the switch, the acknowledgement of 62 twice: 4.099 us.
  for (const std::string policy : {"timely", "swift"}) {
    const Outcome outcome = test::run(
        "topology: {shape: star, hosts: 3, link: {delay: 1us}}\nnic: {mtu: 1024, congestion-control: " + policy +
        "}\nworkloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 1KiB, count: 100, depth: 1}\n"
        "expect:\n"
        "  - {rtt: n1, percentile: 50, min: 4050ns, max: 4150ns, name: middle}\n"
        "  - {rtt: all, mean: yes, min: 4050ns, max: 4150ns}\n"
        "  - {rtt: all, percentile: 99, max: 4us}\n"
        "  - {rtt: n3, max: 1s}\n");
    BOOST_TEST(test::held(outcome, 0), test::story(outcome));
    BOOST_TEST(test::held(outcome, 1), test::story(outcome));
    BOOST_TEST(!test::held(outcome, 2), test::story(outcome));
    BOOST_TEST(!test::held(outcome, 3), "n3 has sent nothing");
    BOOST_TEST(outcome.round_trips.count() > 50u);
    BOOST_TEST(outcome.expectations[0].value.value_or(0) > 4050);
  }
}

BOOST_AUTO_TEST_CASE(failures_are_seen_as_what_they_are) {
  const std::string crash = "faults:\n  - {node-crash: n2, at: 20us}\n";
  check("{completions: w, status: retry_exceeded, is: 1, from: 3ms, until: 10ms}", true, crash);
  check("{completions: w, status: flushed, is: 3}", true, crash);
  check("{qp-state: w, state: error}", true, crash);
  check("{qp-state: w, state: rts, side: target}", false, crash);
  check("{survivors: w, is: 0}", true, crash);
  check("finished", false, crash);
}

BOOST_AUTO_TEST_CASE(what_nobody_wrote_is_expected_too) {
  const Outcome unfinished = test::run(
      test::star(2, std::string(kTraffic) + "faults:\n  - {node-crash: n2, at: 20us}\n", "timeout: 8, retry-count: 2"));
  BOOST_TEST(!unfinished.held());
  BOOST_TEST(unfinished.expectations.size() == 1u);
  const Outcome endless =
      test::run("timeout: 20ms\n" +
                test::star(2, std::string(kTraffic) + "faults:\n  - {node-freeze: n2, at: 20us}\n", "timeout: 0")
                    .replace(test::star(2, "").find("timeout: 5s\n"), 12, ""));
  BOOST_CHECK(endless.end == Outcome::End::timed_out);
  BOOST_TEST(!endless.held());
}
