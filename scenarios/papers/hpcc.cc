// Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
#include "scenarios/papers/tables.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kLatency =
    "section 5.3 of the paper, as a summary of it in a public repository quotes it (read on 2026-11-25): the tail of "
    "round "
    "trips stays under 20 us, and at 50 % load their 95th percentile is 19.8 us, less than 8 us above the base of 12 "
    "us";
constexpr std::string_view kPlots =
    "the paper has it as a plot (figure 11), which could not be read: ours stands alone";
constexpr std::string_view kSampled =
    "ours are pings between hosts drawn once, for 0.6 ms after 0.4 ms, the paper's of 100 ms; percentiles are the "
    "upper end "
    "of a bin of 3 %";

constexpr ExperimentRun kHpccRuns[] = {
    {"50", "hpcc-50"}, {"30", "hpcc-30-incast"}, {"30-dcqcn", "hpcc-30-incast-dcqcn"}};
constexpr ExperimentRow kHpccRows[] = {
    {"50 % load, HPCC, RTT p95",
     Unit::time,
     Published::value(19.8e3),
     true,
     kLatency,
     {"50", "rtt-p95", {}, {}},
     kSampled},
    {"30 % and incast, HPCC, RTT p95",
     Unit::time,
     Published::at_most(20e3),
     true,
     kLatency,
     {"30", "rtt-p95", {}, {}},
     kSampled},
    {"30 % and incast, DCQCN, RTT p95", Unit::time, {}, false, kPlots, {"30-dcqcn", "rtt-p95", {}, {}}, {}},
    {"50 % load, HPCC, slowdown p95", Unit::times, {}, false, kPlots, {"50", "slowdown-p95", {}, {}}, {}},
    {"30 % and incast, HPCC, slowdown p95", Unit::times, {}, false, kPlots, {"30", "slowdown-p95", {}, {}}, {}},
    {"30 % and incast, DCQCN, slowdown p95", Unit::times, {}, false, kPlots, {"30-dcqcn", "slowdown-p95", {}, {}}, {}},
    {"packets sent again, HPCC", Unit::number, {}, false, kPlots, {"30", "resent", {}, {}}, {}},
    {"packets sent again, DCQCN", Unit::number, {}, false, kPlots, {"30-dcqcn", "resent", {}, {}}, {}},
};

}  // namespace

constinit const Experiment kHpcc{
    .name = "hpcc",
    .paper = R"(Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019)",
    .what = "320 hosts, FB_Hadoop flows at 50 % load, and at 30 % with a 60:1 incast, beside DCQCN",
    .parameters =
        "the authors' repository, github.com/alibaba-edu/High-Precision-Congestion-Control: simulation/run.py for 100 "
        "Gb/s (ECN "
        "400 KB to 1600 KB, 20 %; DCQCN's alpha timer 1 us, decrease interval 4 us, timer 300 us, R_AI 20 and R_HAI "
        "200 Mb/s, "
        "F 1, 1 Gb/s at least; eta 95 %, MI_THRESH 0), traffic_gen/FbHdp_distribution.txt and traffic_gen.py; W_AI 80 "
        "octets; "
        "windows begin at 160 KB. 1 ms of arrivals, one incast",
    .runs = kHpccRuns,
    .rows = kHpccRows,
    .seconds = 30};

}  // namespace verbena::scenarios
