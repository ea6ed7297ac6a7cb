// Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", SIGCOMM 2023.
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
    "the figures of NACK generation and reaction latency could not be read (looked for in the index of public pages "
    "and "
    "repositories on 2026-11-25); the profiles' nak-latency is assumed, and none has a reaction latency";

constexpr ExperimentRun kLuminaRuns[] = {{"cx4-lx", "lumina-cx4-lx"},
                                         {"cx5", "lumina-cx5"},
                                         {"cx6-dx", "lumina-cx6-dx"},
                                         {"e810", "lumina-e810"},
                                         {"timeout", "lumina-timeout"}};

constexpr ExperimentRow cnps(std::string_view what, std::string_view run, double number) {
  return {what, Unit::number, Published::value(number), true, kChecker, {run, "cnps", {}, {}}, {}};
}
constexpr ExperimentRow naks(std::string_view what, std::string_view run) {
  return {what, Unit::number, Published::value(2), true, kGoBackN, {run, "naks", {}, {}}, {}};
}
constexpr ExperimentRow slowest(std::string_view what, std::string_view run) {
  return {what, Unit::time, {}, false, kLatencies, {run, "slowest", {}, {}}, {}};
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
    slowest("slowest WRITE, ConnectX-4 Lx", "cx4-lx"),
    slowest("slowest WRITE, ConnectX-5", "cx5"),
    slowest("slowest WRITE, ConnectX-6 Dx", "cx6-dx"),
    slowest("slowest WRITE, E810", "e810"),
};

}  // namespace

constinit const Experiment kLumina{
    .name = "lumina",
    .paper = R"(Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", )"
             "SIGCOMM 2023",
    .what = "CNPs, NAKs and timeouts of four NICs, by their profiles",
    .parameters =
        "of the authors' example, conf/example.yml: 4 QPs, MTU 1024, a WRITE of 1,024,000 octets each, min time "
        "between CNPs 0, slow restart on, adaptive retransmission off; its data-pkt-events as they are there",
    .runs = kLuminaRuns,
    .rows = kLuminaRows,
    .seconds = 1};

}  // namespace verbena::scenarios
