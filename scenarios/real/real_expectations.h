// RealExpectations: what a scenario expects of a run under the real clock, judged.
//
// Solely responsible for the verdicts. Programs are judged by their exit status and output, the fabric and the NICs by
// their counters, the packets by the checkers: what happens inside the programs is not seen, so that expectations about
// workloads are refused beforehand.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/fabric_client/fabric_snapshot.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/checker_verdicts.h"
#include "scenarios/outcome/latency_histogram.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// How a program ended.
struct ProgramEnd {
  ProgramOutcome outcome;
  std::string output;
};

class RealExpectations {
 public:
  explicit RealExpectations(const Scenario& scenario) : scenario_(scenario) {}

  /// Why they cannot be judged under the real clock, in one line; nothing: they can.
  static std::optional<std::string> refuse(const Scenario& scenario);

  /// "No packet on ...", and queues: when the next look at the fabric is wanted, and what it shows.
  std::optional<Duration> next_sample(Duration elapsed) const;
  void sample(Duration elapsed, const host::FabricSnapshot& seen);

  /// `seen`: the fabric's last counters.
  std::vector<ExpectationOutcome> judge(const std::vector<ProgramEnd>& programs, const host::FabricSnapshot& seen,
                                        const CheckerReports& reports) const;

 private:
  struct Sample {
    std::optional<std::uint64_t> first;
    std::optional<std::uint64_t> last;
  };
  ExpectationOutcome judge_one(std::size_t index, const std::vector<ProgramEnd>& programs,
                               const host::FabricSnapshot& seen, const CheckerReports& reports) const;
  std::uint64_t frames_on(const Expectation& expectation, const host::FabricSnapshot& seen) const;
  void sample_queues(Duration elapsed, const host::FabricSnapshot& seen);
  void judge_queue(std::size_t index, ExpectationOutcome& outcome) const;

  const Scenario& scenario_;
  std::map<std::size_t, Sample> samples_;           // by expectation
  std::map<std::size_t, LatencyHistogram> queues_;  // by expectation, octets
  Duration queues_at_{};                            // when they are looked at next
};

}  // namespace verbena::scenarios
