// What the `nic:` of a scenario means under the real clock for the NICs of its programs.
//
// Solely the translation; the words that a program's NIC is told are emulator/host/config/nic_tuning.h's.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <string>

#include "emulator/host/config/nic_tuning.h"
#include "scenarios/language/scenario.h"
#include "wire/result.h"

namespace verbena::scenarios {

/// What the NICs of the node's programs are told, each rail a device as fast as its cable. Timeouts, retries and the
/// read depth stay the programs' choice where the scenario does not write them. The error: in what its rails differ
/// that they have to have in common, since a program is told once.
Result<host::NicTuning, std::string> real_tuning(const Scenario& scenario, std::uint32_t node);

}  // namespace verbena::scenarios
