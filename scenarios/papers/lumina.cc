// Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", SIGCOMM 2023.
// Tested by: tests/scenarios/papers/experiment_test.cc
#include "scenarios/papers/tables.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kChecker =
    "the authors' checker: a CNP for each marked packet, and for each NAK where NACK_TRIGGER_CNP_DIC says so "
    "(github.com/lumina-test/lumina, lumina/analyzer/checker/cnp_check.py)";
constexpr std::string_view kGoBackN =
    "a NAK for each loss, as the authors' go-back-N checker has it (lumina/analyzer/checker/gbn_check.py)";
constexpr std::string_view kTimeout =
    "4.096 us x 2^14, what conf/example.yml says of its min-retransmit-timeout 14 (github.com/lumina-test/lumina)";
constexpr std::string_view kLatencies =
    "figures 8 and 9 of the paper, of memory, orders of magnitude: they could not be read (looked for in the index of "
    "public pages and repositories on 2026-11-25). The profiles say what is remembered, so this shows the model, not "
    "the NIC";

constexpr ExperimentRun kLuminaRuns[] = {{"cx4-lx", "lumina-cx4-lx"},           {"cx5", "lumina-cx5"},
                                         {"cx6-dx", "lumina-cx6-dx"},           {"e810", "lumina-e810"},
                                         {"loss-cx4-lx", "lumina-loss-cx4-lx"}, {"loss-cx5", "lumina-loss-cx5"},
                                         {"loss-cx6-dx", "lumina-loss-cx6-dx"}, {"loss-e810", "lumina-loss-e810"},
                                         {"timeout", "lumina-timeout"}};

constexpr ExperimentRow cnps(std::string_view what, std::string_view run, double number) {
  return {what, Unit::number, Published::value(number), true, kChecker, {run, "cnps", {}, {}}, {}};
}
constexpr ExperimentRow naks(std::string_view what, std::string_view run) {
  return {what, Unit::number, Published::value(2), true, kGoBackN, {run, "naks", {}, {}}, {}};
}
constexpr ExperimentRow loss(std::string_view what, std::string_view run, std::string_view verb, double ns) {
  return {what, Unit::time, Published::value(ns), false, kLatencies, {run, verb, {}, {}}, {}};
}

constexpr ExperimentRow kLuminaRows[] = {
    cnps("CNPs of 2 marks and 2 losses, ConnectX-4 Lx", "cx4-lx", 2),
    cnps("CNPs, ConnectX-5", "cx5", 4),
    cnps("CNPs, ConnectX-6 Dx", "cx6-dx", 4),
    cnps("CNPs, E810", "e810", 2),
    naks("NAKs of 2 losses, ConnectX-4 Lx", "cx4-lx"),
    naks("NAKs, ConnectX-5", "cx5"),
    naks("NAKs, ConnectX-6 Dx", "cx6-dx"),
    naks("NAKs, E810", "e810"),
    {"a last packet lost, timeout code 14",
     Unit::time,
     Published::value(67.108864e6),
     true,
     kTimeout,
     {"timeout", "time", {}, {}},
     {}},
    loss("WRITE: NAK and reaction to it, ConnectX-4 Lx", "loss-cx4-lx", "write", 202e3),
    loss("WRITE: NAK and reaction to it, ConnectX-5", "loss-cx5", "write", 6e3),
    loss("WRITE: NAK and reaction to it, ConnectX-6 Dx", "loss-cx6-dx", "write", 6e3),
    loss("WRITE: NAK and reaction to it, E810", "loss-e810", "write", 110e3),
    loss("READ: asked again, ConnectX-4 Lx", "loss-cx4-lx", "read", 150e3),
    loss("READ: asked again, ConnectX-5", "loss-cx5", "read", 2e3),
    loss("READ: asked again, ConnectX-6 Dx", "loss-cx6-dx", "read", 2e3),
    loss("READ: asked again, E810", "loss-e810", "read", 83e6),
};

}  // namespace

constinit const Experiment kLumina{
    .name = "lumina",
    .paper = R"(Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", )"
             "SIGCOMM 2023",
    .what = "CNPs, NAKs, timeouts and what a loss costs with four NICs, by their profiles",
    .parameters =
        "of the authors' example, conf/example.yml: 4 QPs, MTU 1024, a WRITE of 1,024,000 octets each, min time "
        "between CNPs 0, slow restart on, adaptive retransmission off; its data-pkt-events as they are there",
    .runs = kLuminaRuns,
    .rows = kLuminaRows,
    .seconds = 1};

}  // namespace verbena::scenarios
