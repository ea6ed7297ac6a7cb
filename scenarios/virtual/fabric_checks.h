// FabricChecks: watches a network with traffic classes for what must not happen in it.
//
// Solely its three rules, of which scenarios speak by name as of checkers (kFabricChecks): no frame of a class begins
// while its port is asked to pause ("pause": 802.1Q clause 36, 802.3 annex 31B); a lossless class loses nothing unless
// faults were to happen ("lossless"); ports do not wait for each other in a ring ("pause-deadlock"). The first is
// judged by the frames on the cables, where no cable dies and no fault reorders or duplicates packets; the others are
// what the network says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/sim/world.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/checker_verdicts.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

class FabricChecks {
 public:
  /// The scenario's topology has classes.
  FabricChecks(const Scenario& scenario, const fabric::Network& network, Time begin);

  void observe(const sim::ObservedFrame& frame);
  /// At the end of the run: reports of its rules beside those of the checkers.
  void finish(Time now, Outcome& outcome, CheckerReports& reports);

 private:
  /// Of one direction of a cable, as pause frames that have come from its other end want it.
  struct Pauses {
    std::array<Time, fabric::kTrafficClasses> from{};
    std::array<Time, fabric::kTrafficClasses> until{};
  };
  void take_pause(const sim::ObservedFrame& frame);
  void report(Time time, std::size_t rule, std::string text);

  const Scenario& scenario_;
  const fabric::Network& network_;
  Time begin_;
  bool judges_pauses_;
  std::vector<Pauses> pauses_;  // 2 * cable + backward
  std::array<std::uint64_t, kFabricChecks.size()> reports_{};
  std::vector<ReportedViolation> violations_;  // the first few
  std::string first_loss_;
};

}  // namespace verbena::scenarios
