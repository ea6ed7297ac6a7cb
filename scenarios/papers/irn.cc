// Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018.
// Tested by: tests/scenarios/papers/experiment_test.cc
#include "scenarios/papers/tables.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kIrnNotRead =
    "the paper's figures and tables could not be read (looked for in the index of public pages and repositories on "
    "2026-11-25): ours stands alone";
constexpr std::string_view kRequiresPfc =
    "section 4 of the paper, by its headings (RoCE requires PFC), as "
    "blog.bxhu2004.com/sci/Networks/RevisitRDMA/eva "
    "quotes them: without PFC it is slower";

constexpr std::string_view kAbstract =
    "the paper's abstract: IRN (without PFC) outperforms RoCE (with PFC) by 6 to 83 % for typical network scenarios "
    "(arXiv 1806.08159): 0.17 to 0.94 of its times";

constexpr ExperimentRun kIrnRuns[] = {
    {"irn", "irn-irn"}, {"irn-pfc", "irn-irn-pfc"}, {"roce-pfc", "irn-roce-pfc"}, {"roce", "irn-roce-lossy"}};
constexpr ExperimentRow kIrnRows[] = {
    {"IRN by RoCE with PFC, average slowdown",
     Unit::times,
     Published::between(0.17, 0.94),
     true,
     kAbstract,
     {"irn", "slowdown", "roce-pfc", "slowdown"},
     {}},
    {"IRN by RoCE with PFC, average FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     true,
     kAbstract,
     {"irn", "fct", "roce-pfc", "fct"},
     {}},
    {"IRN by RoCE with PFC, p99 FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     true,
     kAbstract,
     {"irn", "fct-p99", "roce-pfc", "fct-p99"},
     {}},
    {"RoCE without PFC by RoCE with PFC, average FCT",
     Unit::times,
     Published::at_least(1),
     true,
     kRequiresPfc,
     {"roce", "fct", "roce-pfc", "fct"},
     {}},
    {"RoCE without PFC by RoCE with PFC, p99 FCT",
     Unit::times,
     Published::at_least(1),
     true,
     kRequiresPfc,
     {"roce", "fct-p99", "roce-pfc", "fct-p99"},
     {}},
    {"IRN by IRN with PFC, average FCT", Unit::times, {}, false, kIrnNotRead, {"irn", "fct", "irn-pfc", "fct"}, {}},
    {"IRN, average slowdown", Unit::times, {}, false, kIrnNotRead, {"irn", "slowdown", {}, {}}, {}},
    {"IRN, average FCT", Unit::time, {}, false, kIrnNotRead, {"irn", "fct", {}, {}}, {}},
    {"IRN, p99 FCT", Unit::time, {}, false, kIrnNotRead, {"irn", "fct-p99", {}, {}}, {}},
    {"RoCE with PFC, average slowdown", Unit::times, {}, false, kIrnNotRead, {"roce-pfc", "slowdown", {}, {}}, {}},
    {"RoCE with PFC, average FCT", Unit::time, {}, false, kIrnNotRead, {"roce-pfc", "fct", {}, {}}, {}},
    {"RoCE with PFC, p99 FCT", Unit::time, {}, false, kIrnNotRead, {"roce-pfc", "fct-p99", {}, {}}, {}},
    {"RoCE without PFC, average slowdown", Unit::times, {}, false, kIrnNotRead, {"roce", "slowdown", {}, {}}, {}},
    {"RoCE without PFC, average FCT", Unit::time, {}, false, kIrnNotRead, {"roce", "fct", {}, {}}, {}},
    {"RoCE without PFC, p99 FCT", Unit::time, {}, false, kIrnNotRead, {"roce", "fct-p99", {}, {}}, {}},
};

constexpr std::string_view kAbstractOfAll =
    "the range of the paper's abstract is that of all its scenarios; which of them has which value could not be read";

constexpr ExperimentRun kIrnControlRuns[] = {{"irn-dcqcn", "irn-irn-dcqcn"},
                                             {"roce-pfc-dcqcn", "irn-roce-pfc-dcqcn"},
                                             {"irn-timely", "irn-irn-timely"},
                                             {"roce-pfc-timely", "irn-roce-pfc-timely"}};
constexpr ExperimentRow kIrnControlRows[] = {
    {"DCQCN: IRN by RoCE with PFC, average slowdown",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-dcqcn", "slowdown", "roce-pfc-dcqcn", "slowdown"},
     {}},
    {"DCQCN: IRN by RoCE with PFC, average FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-dcqcn", "fct", "roce-pfc-dcqcn", "fct"},
     {}},
    {"DCQCN: IRN by RoCE with PFC, p99 FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-dcqcn", "fct-p99", "roce-pfc-dcqcn", "fct-p99"},
     {}},
    {"TIMELY: IRN by RoCE with PFC, average slowdown",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-timely", "slowdown", "roce-pfc-timely", "slowdown"},
     {}},
    {"TIMELY: IRN by RoCE with PFC, average FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-timely", "fct", "roce-pfc-timely", "fct"},
     {}},
    {"TIMELY: IRN by RoCE with PFC, p99 FCT",
     Unit::times,
     Published::between(0.17, 0.94),
     false,
     kAbstractOfAll,
     {"irn-timely", "fct-p99", "roce-pfc-timely", "fct-p99"},
     {}},
};

constexpr ExperimentRun kIrnIncastRuns[] = {{"irn", "irn-incast"}, {"roce-pfc", "irn-incast-roce-pfc"}};
constexpr ExperimentRow kIrnIncastRows[] = {
    {"IRN by RoCE with PFC, request completion time",
     Unit::times,
     {},
     false,
     kIrnNotRead,
     {"irn", "rct", "roce-pfc", "rct"},
     {}},
    {"IRN, request completion time", Unit::time, {}, false, kIrnNotRead, {"irn", "rct", {}, {}}, {}},
    {"RoCE with PFC, request completion time", Unit::time, {}, false, kIrnNotRead, {"roce-pfc", "rct", {}, {}}, {}},
};

}  // namespace

constinit const Experiment kIrnControl{
    .name = "irn-congestion-control",
    .paper = R"(Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018)",
    .what = "the same, IRN and RoCE with PFC, with DCQCN and with TIMELY",
    .parameters =
        "as those of irn; DCQCN as in dcqcn-incast, TIMELY as its authors' simulator (ns3-rdma), with an "
        "acknowledgement asked for each 16 packets",
    .runs = kIrnControlRuns,
    .rows = kIrnControlRows,
    .seconds = 80};

constinit const Experiment kIrnIncast{
    .name = "irn-incast",
    .paper = R"(Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018)",
    .what = "30 hosts send 150 MB to one, at once: IRN, and RoCE with PFC",
    .parameters = "as those of irn; 30 senders of 5 MB each, as remembered of section 4.4",
    .runs = kIrnIncastRuns,
    .rows = kIrnIncastRows,
    .seconds = 5};

constinit const Experiment kIrn{
    .name = "irn",
    .paper = R"(Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018)",
    .what = "54 hosts, fat tree, 70 % load, heavy-tailed flows: IRN, and RoCE with and without PFC",
    .parameters =
        "as the issue that asked for this has them, and as remembered of section 4.1 "
        "(sizes; 240 KB a port, 220 KB with "
        "headroom taken off): the section could not be read. 10 ms of arrivals, some 6900 "
        "flows; a NIC gives up after seven "
        "timeouts of 1 ms, the paper's never does",
    .runs = kIrnRuns,
    .rows = kIrnRows,
    .seconds = 25};

}  // namespace verbena::scenarios
