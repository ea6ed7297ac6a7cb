// FaultPlan: what happens to the packets of one direction of a link. Text in, verdicts out.
//
// Solely responsible for the decision, a function of (seed, link, packet index, packet fields) and never of thread timing
// or of a clock. Carrying it out (holding, copying, dropping frames) is LinkModel's work.
//
// A fault is written as one action and its conditions, in any order after the action:
//   drop | duplicate | delay by=10us | reorder by=3 (packets) | corrupt [where=payload|header|icrc] [repair=yes]
//   0.1% or p=0.001          by probability
//   qp=0 psn=4 iter=1        by exact packet: the (qp+1)-th flow seen on the link, PSN relative to the flow's first, the
//                            iter-th transmission of that PSN (from 1; `all` fits every one); psn may be a range 4-7
//   opcode=write|send|read|read-response|ack|nak|atomic|cm|any   kind of packet
//   every=100 count=5        each hundredth match, at most five times
//   dir=tx|rx|both           seen from the node that has the fault; tx if nothing is said
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/packet_view.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::fabric {

enum class FaultAction : std::uint8_t { drop, duplicate, delay, reorder, corrupt };
std::string_view to_string(FaultAction action);

struct FaultRule;  // a plain value, defined in fault_rule.h

/// The error names the word that is wrong and what would be right, in one line.
Result<FaultRule, std::string> parse_fault(std::string_view text);

}  // namespace verbena::fabric
