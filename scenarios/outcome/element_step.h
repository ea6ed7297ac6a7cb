// ElementStep: what a fault of a scenario does to the network, and when after its beginning, for both clocks; and what
// it does to nodes.
//
// Solely the translation from the scenario's words to fabric::ElementChange, whose meaning is fabric::ElementFaults's;
// when a fault begins is fault_driver.h's (virtual time) and real/fault_schedule.h's.
// Tested by: tests/scenarios/real/both_clocks_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "scenarios/language/fault_words.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct ElementStep {
  Duration after{};  // the fault's beginning
  fabric::ElementChange change;
};
/// Step `number` of the fault, from 0; nothing: it has no such step, or is one of nodes and their software.
std::optional<ElementStep> element_step(const ElementFault& fault, std::uint32_t number);

/// Nothing: the fault is none of nodes.
std::optional<NodeChange> node_change_of(ElementFault::Kind kind);
/// Nothing: the fault is none of nodes' software.
std::optional<SoftwareFault> software_fault_of(ElementFault::Kind kind);

/// The directions that a choice, or several, name.
std::vector<fabric::LinkId> links_of(const LinkChoice& choice);
std::vector<fabric::LinkId> links_of(const std::vector<LinkChoice>& choices);

}  // namespace verbena::scenarios
