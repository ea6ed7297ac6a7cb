// VerbFaults: what happens to a program's calls. Rules in, verdicts out.
//
// Solely the decision, a function of the seed, the rules and the order of the calls, and of time only where a rule says
// `after`. Carrying it out is the caller's: the verbs of a live program (verbs-shim/verbs/boundary.h), or a simulated
// application. For one thread, or under a lock.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/verb_rule.h"
#include "wire/time.h"

namespace verbena::fabric {

/// What a call is about.
struct VerbCall {
  Verb verb = Verb::any;
  std::optional<std::uint32_t> qp;  // its number in the order in which they were made
  std::uint32_t device = 0;
};

struct VerbVerdict {
  int error = 0;      // it fails with this errno; 0: it is done
  Duration delay{0};  // first so much time passes
};

class VerbFaults {
 public:
  VerbFaults(std::vector<VerbRule> rules, std::uint64_t seed);

  /// Of a call that is about to be done. All rules are asked; the first one that fails it says with what, delays add
  /// up.
  VerbVerdict judge(const VerbCall& call, Time now);

  bool empty() const { return entries_.empty(); }
  /// Whether any rule speaks of the verb.
  bool concerns(Verb verb) const;
  std::size_t rules() const { return entries_.size(); }
  const VerbRule& rule(std::size_t index) const { return entries_[index].rule; }
  const RuleCounters& counters(std::size_t index) const { return entries_[index].counters; }

 private:
  struct Entry {
    VerbRule rule;
    RuleCounters counters;
  };
  bool strikes(Entry& entry, std::size_t index, const VerbCall& call, Time now);

  std::vector<Entry> entries_;
  std::uint64_t seed_;
  std::optional<Time> began_;
};

}  // namespace verbena::fabric
