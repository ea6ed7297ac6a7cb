// ElementStep: what a fault of a scenario does to the network, and when after its beginning, for both clocks.
//
// Solely the changes of a fault, one after the other; their meaning is fabric::ElementFaults's, and when a fault begins
// is fault_driver.h's (virtual time) and real/fault_schedule.h's.
// Tested by: tests/scenarios/real/both_clocks_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/fabric/fault.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct ElementStep {
  Duration after{};  // the fault's beginning
  fabric::ElementChange change;
};
/// Step `number` of the fault, from 0; nothing: it has no such step, or is none of elements of the network.
std::optional<ElementStep> element_step(const Fault& fault, std::uint32_t number);

}  // namespace verbena::scenarios
