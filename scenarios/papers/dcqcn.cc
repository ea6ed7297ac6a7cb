// Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
// Tested by: tests/scenarios/papers/dcqcn_model_test.cc
#include "scenarios/papers/dcqcn_model.h"
#include "scenarios/papers/tables.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kPaper =
    R"(Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015)";

// -- Thresholds -------------------------------------------------------------------------------------------------------

constexpr std::string_view kSection4 =
    "section 4 of the paper, as translated sentence by sentence in a public repository's notes on RDMA (chapter 21, "
    "read on 2026-11-25)";

// An Arista 7050QX32 with Broadcom's Trident II.
constexpr double kBuffer = 12e6;
constexpr double kPorts = 32;
constexpr double kPriorities = 8;
constexpr double kHeadroom = 22.4e3;  // of a port and priority, for 40 Gb/s and an MTU of 1500
constexpr double kBeta = 8;

/// What is left of the buffer beside the headroom of all ports and priorities.
constexpr double shared() {
  return kBuffer - kPriorities * kPorts * kHeadroom;
}
double pfc_static() {
  return shared() / (kPriorities * kPorts);
}
double ecn_static() {
  return pfc_static() / kPorts;
}
/// Xoff is beta times what is free by the priorities, and all queues may be at the ECN threshold before it is reached.
double ecn_dynamic() {
  return kBeta * shared() / (kPriorities * kPorts * (kBeta + 1));
}

constexpr ExperimentRow kThresholdRows[] = {
    {"PFC threshold, static", Unit::octets, Published::value(24.47e3), true, kSection4, {.computed = pfc_static}, {}},
    {"ECN threshold below the static PFC one",
     Unit::octets,
     Published::value(0.85e3),
     true,
     kSection4,
     {.computed = ecn_static},
     "the paper's own 24.47 KB by its 32 ports are 0.765 KB"},
    {"ECN threshold below the dynamic PFC one, beta 8",
     Unit::octets,
     Published::value(21.75e3),
     true,
     kSection4,
     {.computed = ecn_dynamic},
     {}},
};

// -- Incast -----------------------------------------------------------------------------------------------------------

constexpr std::string_view kSection6 =
    "section 6 of the paper, as the issue that asked for this quotes it; the section itself was looked for (index of "
    "public pages and repositories, 2026-11-25) and could not be read";
constexpr std::string_view kSwing =
    "the share of packets that has to be marked for 20 senders to stand still is above Pmax (rows below), so that no "
    "queue below Kmax has it: the queue goes beyond Kmax, where all packets are marked, and swings about it. Run r5 "
    "has R_AI of 5 Mb/s, ConnectX's default; runs p10 and p10r5 have Pmax of 10 %, and their queues follow the model";
constexpr std::string_view kFluid =
    "arithmetic (dcqcn_model.cc): the fixed point of the paper's fluid model (section 5), its equations as remembered "
    "and as a public program has them that cites their source (read on 2026-11-25)";
constexpr std::string_view kRules =
    "arithmetic (dcqcn_model.cc): section 3's rules step by step for one sender that is marked by chance, and that "
    "share at which it has a 20th of the port";
constexpr std::string_view kMeans =
    "the fluid model multiplies means; the rules step by step, in the row below, have no such error, and more has to "
    "be marked";

constexpr std::string_view kUneven =
    "the queue swings, and a sender gains more while fewer packets are marked than it loses while more are; with R_AI "
    "of 5 Mb/s, in the row below, it swings less";

constexpr DcqcnModel kModel20;
constexpr DcqcnModel kModel20Rai5{.additive_increase = 5e6};
constexpr double kPmax = 0.01;
constexpr double kPmaxOfRuns = 0.1;  // p10, p10r5

double fluid_share() {
  return marked_share_of_fluid(kModel20);
}
double rules_share() {
  return marked_share_of_rules(kModel20);
}
double fluid_queue() {
  return queue_for(fluid_share(), kPmaxOfRuns);
}
double rules_queue() {
  return queue_for(rules_share(), kPmaxOfRuns);
}
double rules_queue_rai5() {
  return queue_for(marked_share_of_rules(kModel20Rai5), kPmaxOfRuns);
}

constexpr ExperimentRun kIncastRuns[] = {{"k2", "dcqcn-incast-2"},          {"k8", "dcqcn-incast-8"},
                                         {"k20", "dcqcn-incast-20"},        {"r5", "dcqcn-incast-20-rai5"},
                                         {"p10", "dcqcn-incast-20-pmax10"}, {"p10r5", "dcqcn-incast-20-pmax10-rai5"},
                                         {"dctcp", "dcqcn-incast-20-dctcp"}};
constexpr ExperimentRow kIncastRows[] = {
    {"2:1, goodput", Unit::rate, Published::at_least(39e9), false, kSection6, {"k2", "goodput", {}, {}}, {}},
    {"8:1, goodput", Unit::rate, Published::at_least(39e9), false, kSection6, {"k8", "goodput", {}, {}}, {}},
    {"20:1, goodput", Unit::rate, Published::at_least(39e9), false, kSection6, {"k20", "goodput", {}, {}}, {}},
    {"20:1, queue p90", Unit::octets, Published::value(76.6e3), false, kSection6, {"k20", "queue-p90", {}, {}}, kSwing},
    {"20:1, queue p90, R_AI 5 Mb/s",
     Unit::octets,
     Published::value(76.6e3),
     false,
     kSection6,
     {"r5", "queue-p90", {}, {}},
     kSwing},
    {"20:1, queue p90, DCTCP",
     Unit::octets,
     Published::value(162.9e3),
     false,
     kSection6,
     {"dctcp", "queue-p90", {}, {}},
     {}},
    {"20:1, share to be marked, fluid model; published: Pmax",
     Unit::times,
     Published::at_most(kPmax),
     true,
     kFluid,
     {.run = {}, .name = {}, .over_run = {}, .over_name = {}, .computed = fluid_share},
     kSwing},
    {"20:1, share to be marked, rules; published: Pmax",
     Unit::times,
     Published::at_most(kPmax),
     true,
     kRules,
     {.run = {}, .name = {}, .over_run = {}, .over_name = {}, .computed = rules_share},
     kSwing},
    {"20:1, marked share", Unit::times, {}, false, kRules, {"k20", "marked", "k20", "packets"}, kSwing},
    {"20:1, Pmax 10 %, queue p50 by the fluid model's",
     Unit::times,
     Published::value(1),
     true,
     kFluid,
     {.run = "p10", .name = "queue-p50", .over_run = {}, .over_name = {}, .computed = fluid_queue},
     kMeans},
    {"20:1, Pmax 10 %, queue p50 by the rules'",
     Unit::times,
     Published::value(1),
     true,
     kRules,
     {.run = "p10", .name = "queue-p50", .over_run = {}, .over_name = {}, .computed = rules_queue},
     kUneven},
    {"20:1, Pmax 10 %, R_AI 5 Mb/s, queue p50 by the rules'",
     Unit::times,
     Published::value(1),
     true,
     kRules,
     {.run = "p10r5", .name = "queue-p50", .over_run = {}, .over_name = {}, .computed = rules_queue_rai5},
     {}},
};

// -- Fairness and victim flow -----------------------------------------------------------------------------------------

constexpr std::string_view kFigures8And9 =
    "section 3 of the paper, of its figures 8 and 9: all four flows get an equal share of the bottleneck, and the "
    "victim flow's problem is solved (read in the translation of dcqcn-thresholds)";
constexpr std::string_view kFigures3And4 =
    "figures 3 and 4 of the paper: remembered, and looked for in vain (index of public pages and repositories, "
    "2026-11-25)";
constexpr std::string_view kByPort =
    "arithmetic: PFC gives each of two ports half of 37.9 Gb/s, and behind one of them are three flows";

constexpr ExperimentRun kFairnessRuns[] = {{"pfc", "dcqcn-fairness-pfc"}, {"dcqcn", "dcqcn-fairness"}};
constexpr ExperimentRow kFairnessRows[] = {
    {"PFC alone, H4 by H1", Unit::times, Published::value(3), true, kByPort, {"pfc", "h4", "pfc", "h1"}, {}},
    {"PFC alone, H4", Unit::rate, Published::value(18.9e9), true, kByPort, {"pfc", "h4", {}, {}}, {}},
    {"DCQCN, H4 by H1", Unit::times, Published::value(1), true, kFigures8And9, {"dcqcn", "h4", "dcqcn", "h1"}, {}},
    {"DCQCN, H4 by H2", Unit::times, Published::value(1), true, kFigures8And9, {"dcqcn", "h4", "dcqcn", "h2"}, {}},
    {"DCQCN, H4 by H3", Unit::times, Published::value(1), true, kFigures8And9, {"dcqcn", "h4", "dcqcn", "h3"}, {}},
};

constexpr ExperimentRun kVictimRuns[] = {{"pfc-0", "dcqcn-victim-pfc-0"},
                                         {"pfc-2", "dcqcn-victim-pfc-2"},
                                         {"dcqcn-0", "dcqcn-victim-0"},
                                         {"dcqcn-2", "dcqcn-victim-2"}};
constexpr ExperimentRow kVictimRows[] = {
    {"PFC alone, victim", Unit::rate, Published::value(10e9), false, kFigures3And4, {"pfc-0", "victim", {}, {}}, {}},
    {"PFC alone, victim, two more senders",
     Unit::rate,
     Published::value(4.5e9),
     false,
     kFigures3And4,
     {"pfc-2", "victim", {}, {}},
     {}},
    {"DCQCN, victim with two more senders by without",
     Unit::times,
     Published::at_least(1),
     true,
     kFigures8And9,
     {"dcqcn-2", "victim", "dcqcn-0", "victim"},
     {}},
    {"DCQCN, victim, two more senders", Unit::rate, {}, false, kFigures3And4, {"dcqcn-2", "victim", {}, {}}, {}},
};

// -- Pause frames at the spines ---------------------------------------------------------------------------------------

constexpr std::string_view kFigurePauses =
    "section 6.2 of the paper, remembered and looked for in vain (index of public pages and repositories, "
    "2026-11-25): over 6 million without DCQCN and about 300 with it, in 2 minutes; of the first, as many as are of "
    "50 ms";
constexpr std::string_view kOursAlone = "the paper has it as a plot, which could not be read: ours stands alone";
constexpr std::string_view kAtTheStart =
    "all of ours are of the start, when each QP begins at line rate: with `duration: 200ms` there are as many";
constexpr std::string_view kNoBreaks =
    "ours send without a break, and how often a port is paused goes with xon-offset, which the paper does not say";

constexpr ExperimentRun kSpineRuns[] = {{"pfc", "dcqcn-spine-pfc"}, {"dcqcn", "dcqcn-spine"}};
constexpr ExperimentRow kSpineRows[] = {
    {"PFC alone, pause frames that the spines receive",
     Unit::number,
     Published::at_least(2500),
     false,
     kFigurePauses,
     {"pfc", "spine-pauses", {}, {}},
     kNoBreaks},
    {"DCQCN, the same",
     Unit::number,
     Published::value(300),
     false,
     kFigurePauses,
     {"dcqcn", "spine-pauses", {}, {}},
     kAtTheStart},
    {"PFC alone by DCQCN",
     Unit::times,
     {},
     false,
     kFigurePauses,
     {"pfc", "spine-pauses", "dcqcn", "spine-pauses"},
     kAtTheStart},
    {"PFC alone, 2 MB of a user, p50", Unit::time, {}, false, kOursAlone, {"pfc", "user-p50", {}, {}}, {}},
    {"DCQCN, 2 MB of a user, p50", Unit::time, {}, false, kOursAlone, {"dcqcn", "user-p50", {}, {}}, {}},
    {"PFC alone, 2 MB of a user, p90", Unit::time, {}, false, kOursAlone, {"pfc", "user-p90", {}, {}}, {}},
    {"DCQCN, 2 MB of a user, p90", Unit::time, {}, false, kOursAlone, {"dcqcn", "user-p90", {}, {}}, {}},
    {"DCQCN by PFC alone, goodput of all users",
     Unit::times,
     {},
     false,
     kOursAlone,
     {"dcqcn", "user", "pfc", "user"},
     {}},
};

}  // namespace

constinit const Experiment kDcqcnIncast{
    .name = "dcqcn-incast",
    .paper = kPaper,
    .what = "K senders into one port of 40 Gb/s with DCQCN",
    .parameters =
        "CNPs each 50 us, timers of 55 us and F 5: section 3; Kmax 200 KB and R_AI 40 Mb/s: DCQCN+ (ICNP 2018) of "
        "DCQCN's defaults; Kmin 5 KB, Pmax 1 %, byte counter 10 MB, g 1/256: "
        "github.com/sc20anonymous/DCQCN-validation; R_HAI 200 Mb/s: github.com/bobzhuyb/ns3-rdma. DCTCP marks above "
        "160 KB, as remembered. Of 40 Gb/s 37.9 are payload, 1024 octets in frames of 1082",
    .runs = kIncastRuns,
    .rows = kIncastRows,
    .seconds = 9};

constinit const Experiment kDcqcnFairness{
    .name = "dcqcn-fairness",
    .paper = kPaper,
    .what = "four senders, one of them nearer to the receiver (parking lot): PFC alone, and with DCQCN",
    .parameters =
        "PFC alone has section 4's static threshold, 24.47 KB; with DCQCN its dynamic one (beta 8 of 8 priorities: "
        "alpha 1), 12 MB, Kmin 5 KB, Kmax 200 KB, Pmax 1 %; messages of 4 MB",
    .runs = kFairnessRuns,
    .rows = kFairnessRows,
    .seconds = 3};

constinit const Experiment kDcqcnVictim{
    .name = "dcqcn-victim",
    .paper = kPaper,
    .what = "a victim flow beside an incast that it does not meet at any full port: PFC alone, and with DCQCN",
    .parameters = "as those of dcqcn-fairness, on two pods with two spines; which way a flow takes is up to the seed",
    .runs = kVictimRuns,
    .rows = kVictimRows,
    .seconds = 8};

constinit const Experiment kDcqcnSpine{
    .name = "dcqcn-spine",
    .paper = kPaper,
    .what =
        "pause frames that reach the spines of three tiers, users beside a disk that is rebuilt: with DCQCN and "
        "without",
    .parameters =
        "12 MB less the headroom of all ports and priorities, section 4's beta of 8 (alpha 1), Kmin 5 KB, Kmax 200 "
        "KB, Pmax 1 %; 20 users' flows of 2 MB after 2 MB, each host to another one, and eight hosts to one with four "
        "QPs each: which, and their sizes, the paper leaves open; a port goes on 3 KB below Xoff; 50 ms",
    .runs = kSpineRuns,
    .rows = kSpineRows,
    .seconds = 12};

constinit const Experiment kDcqcnThresholds{
    .name = "dcqcn-thresholds",
    .paper = kPaper,
    .what = "thresholds of a switch's buffer at which ECN comes before PFC (arithmetic)",
    .parameters = "of section 4: 12 MB, 32 ports of 40 Gb/s, 8 priorities, headroom of 22.4 KB, beta 8",
    .runs = {},
    .rows = kThresholdRows,
    .seconds = 0};

}  // namespace verbena::scenarios
