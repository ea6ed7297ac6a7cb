// Report: an outcome as text for people and as JSON for programs.
// Tested by: tests/scenarios/workload/flows_test.cc, tests/scenarios/real/run_real_test.cc
#pragma once

#include <span>
#include <string>

#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// Workloads, expectations, faults, trace hash. Ends with a line feed.
std::string report_text(const Scenario& scenario, const Outcome& outcome);
/// One line while it runs, without a line feed.
std::string progress_text(const RunProgress& progress);
std::string report_json(const Scenario& scenario, const Outcome& outcome);

/// One row of a comparison of several scenarios.
struct ComparedRun {
  std::string file;
  const Scenario* scenario = nullptr;
  const Outcome* outcome = nullptr;
};
/// What survived and how fast, a line for each workload of each scenario.
std::string comparison_text(std::span<const ComparedRun> runs);

}  // namespace verbena::scenarios
