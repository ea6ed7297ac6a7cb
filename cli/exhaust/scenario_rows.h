// The rows of a scenario: each verb and completion of each host, and each kind of packet in each direction of each
// cable.
//
// Solely which faults there are, and what a run with some of them was worth. Running is exhaust_scenario.cc's.
// Tested by: tests/cli/exhaust_scenario_test.cc
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/exhaust/subjects.h"
#include "cli/exhaust/verdict.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::cli::exhaust {

class ScenarioRows {
 public:
  explicit ScenarioRows(const scenarios::Scenario& scenario);

  /// The scenario with a rule for each subject that counts it. What it has itself stays in front.
  scenarios::Scenario counting() const;
  /// `outcome`: of counting(). How often each subject was there.
  std::vector<std::uint64_t> counts_in(const scenarios::Outcome& outcome) const;
  std::vector<Subject> subjects() const;
  /// The scenario with the faults of the row, which is one of subjects().
  scenarios::Scenario with(const Row& row) const;
  /// Of with(): whether it held, and if not, why.
  Verdict judge(const Row& row, const scenarios::Outcome& outcome) const;

 private:
  struct Placed {
    Subject subject;  // "n1 ibv_post_send", "n1->s1 write"
    std::vector<std::uint32_t> hosts;
    std::vector<fabric::LinkId> links;  // of packets
  };
  scenarios::Fault fault_of(const Placed& placed, const std::string& rule) const;

  const scenarios::Scenario& scenario_;
  std::vector<Placed> placed_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace verbena::cli::exhaust
