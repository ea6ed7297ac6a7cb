// What the `nic:` of a scenario means under the real clock for the NICs of its programs.
//
// Solely the translation; the words that a program's NIC is told are emulator/host/config/nic_tuning.h's.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include "emulator/host/config/nic_tuning.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

/// What the NIC of the host's programs is told. Timeouts, retries and the read depth stay the programs' choice where
/// the scenario does not write them.
host::NicTuning real_tuning(const Scenario& scenario, std::uint32_t host);

}  // namespace verbena::scenarios
