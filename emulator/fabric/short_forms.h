// ShortForms: faults of software that are rules for verbs (verb_rule.h), with a word of their own in scenarios.
//
// Solely which rule each of them is. "registration-failure: n1, times: 2" is "fail verb=reg_mr count=2" on n1.
// Tested by: tests/fabric/short_forms_test.cc
#pragma once

#include <optional>

#include "emulator/fabric/fault.h"

namespace verbena::fabric {

/// Nothing: it is more than a rule can say.
std::optional<VerbRule> verb_rule_of(const SoftwareFault& fault);

/// The rule for verbs that a fault is, in its own words or by a short form. Of completion-status it has no hosts: it is
/// of what SoftwareFault::workload sees.
std::optional<HostVerbRule> host_verb_rule_of(const Fault& fault);

}  // namespace verbena::fabric
