// The words of a scenario's faults as one table: what read_element_faults.cc reads by, what the real clock can do, and
// what `verbena help fault` and docs/faults.md explain.
//
// Solely the words and their meaning. The keys of each section are in keys.h; every key of a fault is explained here.
// Tested by: tests/cli/help_test.cc, tests/scenarios/language/read_faults_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct ElementFaultWord {
  /// What the word's own key names.
  enum class Subject : std::uint8_t { links, hosts, switches, workload, partition, heal };
  std::string_view key;
  ElementFault::Kind kind;
  Subject subject;
  std::optional<ElementFault::Kind> end;  // what `until` and `for` make happen
  bool needs_virtual_clock;               // programs and their NICs run on their own
  std::string_view text;
  std::string_view example;
};

/// In the order of ElementFault::Kind.
std::span<const ElementFaultWord> element_fault_words();
const ElementFaultWord& element_fault_word(ElementFault::Kind kind);

struct FaultKeyWord {
  std::string_view key;
  std::string_view value;
  std::string_view text;
};

/// The keys that stand beside a fault's own one.
std::span<const FaultKeyWord> fault_key_words();
/// The keys of one of Lumina's events.
std::span<const FaultKeyWord> lumina_key_words();

inline constexpr std::string_view kPacketFaultExample = "packet: 'drop 1%', link: n1->s1, from: 1ms, for: 3ms";
inline constexpr std::string_view kLuminaFaultExample = "data-pkt-events: [{qpn: 0, psn: 4, type: drop, iter: 1}]";

}  // namespace verbena::scenarios
