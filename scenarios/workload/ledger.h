// Ledger: what became of a workload's messages.
//
// Solely bookkeeping: counts, latencies, damage, and the completions whose status a fault rewrites. Whoever wants to
// know of each completion (expectations, triggers of faults) listens here.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <string>
#include <vector>

#include "emulator/nic/objects/completion.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/workload/host_faults.h"
#include "scenarios/workload/journal.h"

namespace verbena::scenarios {

/// One completion, of a request at its initiator or of a receive at the target.
struct CompletionRecord {
  Time time;
  nic::CompletionStatus status{};
  bool is_receive = false;
  std::uint32_t octets = 0;
  Duration latency{0};  // of requests
  Duration alone{0};    // of flows: what the message takes with the network to itself

  std::int64_t slowdown_parts() const { return latency.ns * kSlowdownUnit / alone.ns; }  // of flows
};

class CompletionListener {
 public:
  virtual ~CompletionListener() = default;
  virtual void completed(std::size_t workload, const CompletionRecord& record) = 0;
};

class Ledger {
 public:
  Ledger(std::size_t number, const Workload& workload, Time begin, Journal& journal);

  WorkloadOutcome& outcome() { return outcome_; }
  const WorkloadOutcome& outcome() const { return outcome_; }
  const Workload& workload() const { return workload_; }
  Journal& journal() { return journal_; }
  Duration since_begin(Time time) const { return time - begin_; }

  void listen(CompletionListener& listener) { listeners_.push_back(&listener); }
  /// Of what the workload's requests complete with, whatever they did.
  HostFaults& faults() { return faults_; }
  /// The status that the application is shown.
  nic::CompletionStatus shown(nic::CompletionStatus status, Time now);

  void completed(const CompletionRecord& record);
  void posted() { ++outcome_.messages_posted; }
  void verified(std::uint64_t octets) {
    ++outcome_.verified_messages;
    outcome_.verified_octets += octets;
  }
  void damaged(Time time, const std::string& text);

 private:
  void add_slowdown(const CompletionRecord& record);

  static constexpr std::size_t kDamageLinesMax = 10;

  std::size_t number_;
  const Workload& workload_;
  Time begin_;
  Journal& journal_;
  WorkloadOutcome outcome_;
  std::vector<CompletionListener*> listeners_;
  HostFaults faults_{0, 0};
};

}  // namespace verbena::scenarios
