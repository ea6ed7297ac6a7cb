// The words of a scenario's faults beside the tables of fabric/fault_rows.h (packets) and fabric/element_rows.h: which
// keys a fault may have, those that say when and where, and Lumina's.
//
// Solely the words and their meaning; read_faults.cc and read_element_faults.cc read them, `verbena help fault` and
// docs/faults.md explain them.
// Tested by: tests/cli/help_test.cc, tests/scenarios/language/read_faults_test.cc
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/element_rows.h"

namespace verbena::scenarios {

/// All that may be written in a fault of this row: its own key, those of the row, and when it happens.
std::vector<std::string_view> keys_of(const fabric::ElementRow& row);

struct FaultKeyWord {
  std::string_view key;
  std::string_view value;
  std::string_view text;
};

/// The keys that stand beside a fault's own one.
std::vector<FaultKeyWord> fault_key_words();
/// The keys of one of Lumina's events.
std::span<const FaultKeyWord> lumina_key_words();

inline constexpr std::string_view kPacketFaultExample = "packet: 'drop 1%', link: n1->s1, from: 1ms, for: 3ms";
inline constexpr std::string_view kLuminaFaultExample = "data-pkt-events: [{qpn: 0, psn: 4, type: drop, iter: 1}]";
inline constexpr std::string_view kVerbFaultExample = "verbs: 'fail verb=create_qp nth=2', node: n1, at: 1ms";

/// The verbs that workloads call. A scenario under virtual time refuses rules for others.
bool is_called_by_workloads(fabric::Verb verb);
/// "alloc_pd, create_cq, ...".
std::string verbs_of_workloads();

}  // namespace verbena::scenarios
