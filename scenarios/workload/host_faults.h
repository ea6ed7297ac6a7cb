// HostFaults: what goes wrong with the verbs that a simulated host's software calls, with its NIC's completions, and
// which events come out of the blue (fabric/verb_faults.h).
//
// Solely the rules that are in force on the host, and their hits. Carrying out what becomes of calls is HostAgent's; of
// completions and events it is the NIC's, which asks here.
// Tested by: tests/scenarios/virtual/verb_faults_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/fabric/verb_faults.h"
#include "emulator/nic/objects/completion_judge.h"
#include "emulator/nic/objects/handles.h"

namespace verbena::scenarios {

class HostFaults final : public nic::CompletionJudge {
 public:
  /// `device`: which of its node's the host is.
  HostFaults(std::uint64_t seed, std::uint32_t device) : faults_({}, seed), device_(device) {}

  /// Beside those that are there; it counts from now on. `id`: by which remove() and hits() name it.
  void add(std::uint32_t id, fabric::VerbRule rule, Time now);
  /// Returns what it has hit.
  std::uint64_t remove(std::uint32_t id, Time now);
  std::uint64_t hits(std::uint32_t id) const { return faults_.hits(id); }
  bool empty() const { return rules_.empty(); }
  /// Whether any rule speaks of completions or events.
  bool concern_completions() const { return faults_.concerns_completions(); }

  fabric::VerbVerdict judge_call(fabric::Verb verb, std::optional<std::uint32_t> qp, Time now);
  nic::CompletionVerdict judge(const nic::JudgedCompletion& completion, Time now) override {
    return faults_.judge(completion, device_, now);
  }
  /// The rule that hit what was judged last, the first of several; null: none has.
  const fabric::VerbRule* struck() const;
  Time next_event() override { return faults_.next_event(device_); }
  std::optional<nic::PlannedEvent> take_event(Time now) override { return faults_.take_event(device_, now); }
  void event_raised(const nic::PlannedEvent& event) override { faults_.event_raised(event); }

 private:
  std::vector<fabric::VerbRule> rules_;
  fabric::VerbFaults faults_;
  const std::uint32_t device_;
};

/// What the NIC gives where a verb has this errno.
nic::VerbsError error_of(int error);

}  // namespace verbena::scenarios
