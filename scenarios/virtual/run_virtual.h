// run_virtual(): a scenario on a world under virtual time, from its start to its verdicts.
//
// Solely responsible for the order of things: the world, workloads, faults in their time, the end, the outcome. The
// parts: workload_set.h, fault_driver.h, checker_feed.h, judge.h, out_directory.h.
// Tested by: tests/scenarios/virtual/faults_test.cc, tests/scenarios/virtual/replay_test.cc
#pragma once

#include "scenarios/language/scenario.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// The scenario under virtual time. It has been read or generated, so that its names and indices are right.
Outcome run_virtual(const Scenario& scenario, const RunOptions& options);

}  // namespace verbena::scenarios
