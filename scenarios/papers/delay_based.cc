// Congestion control by delay: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015;
// Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020.
// Tested by: tests/scenarios/papers/experiment_test.cc
#include "scenarios/papers/tables.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kNotRead =
    "nobody could be found who says the paper's value: neither paper nor a text that quotes its tables is in the index "
    "of "
    "public pages and repositories (looked for on 2026-11-25)";

constexpr ExperimentRun kTimelyRuns[] = {{"incast", "timely-incast"}};
constexpr ExperimentRow kTimelyRows[] = {
    {"goodput", Unit::rate, {}, false, kNotRead, {"incast", "goodput", {}, {}}, {}},
    {"RTT p50", Unit::time, {}, false, kNotRead, {"incast", "rtt-p50", {}, {}}, {}},
    {"RTT p95", Unit::time, {}, false, kNotRead, {"incast", "rtt-p95", {}, {}}, {}},
    {"RTT p99", Unit::time, {}, false, kNotRead, {"incast", "rtt-p99", {}, {}}, {}},
    {"RTT p99, of a ping beside them", Unit::time, {}, false, kNotRead, {"incast", "ping-p99", {}, {}}, {}},
};

constexpr ExperimentRun kSwiftRuns[] = {{"incast", "swift-incast"}};
constexpr ExperimentRow kSwiftRows[] = {
    {"goodput", Unit::rate, {}, false, kNotRead, {"incast", "goodput", {}, {}}, {}},
    {"RTT p50", Unit::time, {}, false, kNotRead, {"incast", "rtt-p50", {}, {}}, {}},
    {"RTT p99, the first round trips included", Unit::time, {}, false, kNotRead, {"incast", "rtt-p99", {}, {}}, {}},
    {"queue p50", Unit::octets, {}, false, kNotRead, {"incast", "queue-p50", {}, {}}, {}},
};

}  // namespace

constinit const Experiment kTimelyIncast{
    .name = "timely-incast",
    .paper = R"(Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015)",
    .what = "16 senders into one port of 10 Gb/s with TIMELY: goodput and round trips",
    .parameters =
        "of the TIMELY sender of the authors of DCQCN, github.com/bobzhuyb/ns3-rdma: T_low 50 us, T_high 500 us, "
        "minimum RTT 20 us, delta 10 Mb/s, alpha 0.875, beta 0.8; messages of 64 KB; a round trip takes 16 us "
        "by itself. Senders, speed and way are ours",
    .runs = kTimelyRuns,
    .rows = kTimelyRows,
    .seconds = 1};

constinit const Experiment kSwiftIncast{
    .name = "swift-incast",
    .paper = R"(Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", )"
             "SIGCOMM 2020",
    .what = "100 senders into one port of 100 Gb/s with Swift: goodput and round trips",
    .parameters =
        "of csg-htsim, whose authors call them guesses (github.com/Broadcom/csg-htsim, sim/swift.cpp): target "
        "20 us and 3.053 us a switch, flow scaling 100 us. Senders, speed and way are ours",
    .runs = kSwiftRuns,
    .rows = kSwiftRows,
    .seconds = 1};

}  // namespace verbena::scenarios
