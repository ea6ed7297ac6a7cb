// The words of a scenario's faults as one table: what read_element_faults.cc reads by, what the real clock can do, and
// what `verbena help fault` and docs/faults.md explain.
//
// Solely the words, their keys and their meaning: a fault is a row here and its doing, which is fabric::ElementFaults's
// for the network, and the clocks' own for nodes and their software.
// Tested by: tests/cli/help_test.cc, tests/scenarios/language/read_faults_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

/// What happens to a node, whichever the clock: the doing is a simulated NIC's or a program's.
enum class NodeChange : std::uint8_t {
  crash,    // nothing runs on it any more, its peers hear nothing more
  freeze,   // nothing runs on it for now
  thaw,     // ... and goes on
  restart,  // crashes if it has not, and begins anew
};
/// What happens to the software of nodes.
enum class SoftwareFault : std::uint8_t {
  device_removal,
  rnr_storm,
  completion_status,
  registration_failure,
  post_failure,
};
/// What a fault is: of the network, of nodes, or of their software.
using ElementEffect = std::variant<fabric::ElementChange::Kind, NodeChange, SoftwareFault>;

struct ElementFaultWord {
  /// What the word's own key names.
  enum class Subject : std::uint8_t { links, hosts, switches, workload, partition, heal };
  std::string_view key;
  ElementFault::Kind kind;
  Subject subject;
  ElementEffect effect;
  std::optional<ElementFault::Kind> end;  // what `until` and `for` make happen
  bool needs_virtual_clock;               // programs and their NICs run on their own
  std::string_view text;
  std::string_view example;
  std::span<const std::string_view> keys{};  // of its own, with those of its time to come
  /// `until` and `for` say how long it lasts.
  bool lasts = end.has_value();
  /// It comes and goes, with this in between.
  std::optional<fabric::ElementChange::Kind> in_between{};
};

/// All that may be written in a fault of this kind: its own key, those of the row, and when it happens.
std::vector<std::string_view> keys_of(const ElementFaultWord& word);

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
