// FaultDriver: a scenario's faults, each at its time or when its condition first holds.
//
// Solely responsible for when faults begin and end, for what they do to the hosts' software, and for counting what they
// hit, by the rule's number. What goes by order (psn, iter, every, count) is counted from when its fault begins to when
// it ends, whatever other faults of the same link do meanwhile.
// Tested by: tests/scenarios/virtual/faults_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "scenarios/outcome/element_step.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/workload/journal.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/workload_set.h"

namespace verbena::scenarios {

class FaultDriver final : public CompletionListener {
 public:
  FaultDriver(sim::World& world, const Scenario& scenario, WorkloadSet& workloads, Journal& journal);

  void schedule();
  /// Something is still going to happen at a time that is set.
  bool pending() const { return scheduled_ > 0; }
  /// Ends the rules that are still in force.
  const std::vector<AppliedFault>& applied();

  void completed(std::size_t workload, const CompletionRecord& record) override;
  /// A frame that a link has taken up.
  void observe(const sim::ObservedFrame& frame);
  /// Whether observe() needs to be called.
  bool counts_packets() const { return !packet_conditions_.empty() || !hit_conditions_.empty(); }

 private:
  struct Waiting {
    std::size_t fault = 0;
    std::uint64_t left = 0;
  };
  void at(Time time, std::function<void(Time)> task);
  void begin(std::size_t fault, Time now);
  void end_rule(std::size_t fault, Time now);
  void remove_rule(std::size_t fault);
  void take_step(const Fault& fault, std::uint32_t number, Time now);
  void change_node(sim::HostId host, fabric::NodeChange::Kind change, Time now);
  bool add_rule(std::size_t fault, Time now);
  std::vector<HostFaults*> faults_of(const fabric::Fault& what, const fabric::HostVerbRule& verbs);
  void change_software(const fabric::SoftwareFault& fault, Time now);
  std::uint64_t hits(std::size_t fault) const;
  void look_at_hits(Time now);
  void count_down(std::vector<Waiting>& waiting, Time now);
  void note(Time now, std::string_view text);

  sim::World& world_;
  const Scenario& scenario_;
  WorkloadSet& workloads_;
  Journal& journal_;
  Time begin_;
  std::vector<AppliedFault> applied_;
  std::vector<bool> active_;
  std::vector<std::vector<HostFaults*>> verb_rules_;                 // by fault: where its rule for verbs is in force
  std::vector<std::vector<Waiting>> completion_conditions_;          // by workload
  std::map<std::uint32_t, std::vector<Waiting>> packet_conditions_;  // by cable
  std::vector<std::size_t> hit_conditions_;                          // faults that wait for hits of another
  std::uint32_t scheduled_ = 0;
};

}  // namespace verbena::scenarios
