// The words of a packet fault as one table, for whoever explains them: `verbena help fault` and docs/faults.md.
//
// Solely the view of the table that parse_fault() reads by (fault_parse.cc): a word cannot be understood without being
// explained, nor explained without being understood.
// Tested by: tests/cli/help_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::fabric {

struct FaultWord {
  std::string_view name;
  std::string value;         // what stands behind the '=', in words; empty: there is none
  std::string_view text;     // what it does
  std::string_view example;  // a whole fault with this word in it
};

struct FaultActionWords {
  FaultWord action;
  std::vector<FaultWord> parameters;  // that only this action takes; or all, if it takes no conditions
  bool takes_conditions = true;
};

std::vector<FaultActionWords> fault_action_words();
/// What the actions take: which packets they hit.
std::vector<FaultWord> fault_condition_words();

}  // namespace verbena::fabric
