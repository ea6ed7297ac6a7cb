// run_real(): a scenario under the real clock: unmodified programs on nodes, a fabric process between them.
//
// Solely responsible for the order of things: fabric, programs, faults in their time, the end, the outcome. The parts:
// fabric_child.h, program_child.h, fault_schedule.h, real_expectations.h. Nothing that it starts outlives it: every
// program has a process group of its own that is ended by number, and the fabric ends with the runner.
#pragma once

#include "scenarios/language/scenario.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// The caller blocks or handles SIGINT and sets RunOptions::stop; the process has no other children of its own and no
/// other threads that fork.
Outcome run_real(const Scenario& scenario, const RunOptions& options);

}  // namespace verbena::scenarios
