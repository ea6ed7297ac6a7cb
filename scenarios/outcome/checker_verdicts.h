// What checkers reported in a run, and what the scenario's expectations make of it, the same for both clocks.
//
// Solely values and verdicts. The checkers are captures/checkers', who feeds them is checker_feed.h's and
// real_checkers.h's.
// Tested by: tests/scenarios/virtual/fabric_checks_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "captures/checkers/checker.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// How often each checker has reported.
struct CheckerReports {
  struct Row {
    std::string name;
    std::uint64_t reports = 0;
  };
  bool ran = false;
  std::vector<Row> rows;
  std::string first;  // the first report, for the verdict
};

/// At the end of a run: the checkers' reports, and in the outcome the first few of their violations. `begin`: of the
/// run, on the checkers' clock.
CheckerReports reports_of(checkers::Checkers& checkers, Time begin, Outcome& outcome);

struct CheckerVerdict {
  bool held = false;
  std::string observed;
};
/// Of an expectation about checkers.
CheckerVerdict checker_verdict(const Expectation& expectation, const CheckerReports& reports);
/// Reports that no expectation speaks of: checkers are expected to be silent. `index`: of the implied expectations.
std::vector<ExpectationOutcome> unexpected_reports(const Scenario& scenario, const CheckerReports& reports,
                                                   std::size_t index);

}  // namespace verbena::scenarios
