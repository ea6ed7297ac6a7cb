// size_bins(): the sizes of messages by which a workload's flows are shown apart, as papers show slowdown by flow size.
//
// Solely which bins there are; counting in them is the ledger's (scenarios/workload), showing them report.h's.
// Tested by: tests/scenarios/workload/flows_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

/// The largest size of each bin, in order; each has a tenth of the workload's messages or more, but for the last one,
/// which has what is left. Empty: the workload has no flows, or all of them would be in one bin.
std::vector<std::uint32_t> size_bins(const Workload& workload);

}  // namespace verbena::scenarios
