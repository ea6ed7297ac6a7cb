// WorkloadSet: all workloads of a scenario on a world.
//
// Solely responsible for making agents, connections and ledgers from the scenario, for starting workloads at their
// time, and for telling which part of them a crash or a restart touches.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/workload/flow_source.h"
#include "scenarios/workload/host_agent.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/pairs.h"
#include "scenarios/workload/shared_counter.h"
#include "scenarios/workload/traffic.h"

namespace verbena::scenarios {

class WorkloadSet {
 public:
  WorkloadSet(sim::World& world, const Scenario& scenario, Journal& journal, SetUpListener* listener);
  ~WorkloadSet();

  /// What makes the workloads impossible, as one line with its place: checked before anything is made.
  static std::optional<std::string> find_error(const Scenario& scenario);

  /// Starts each at its time.
  void schedule();
  void crash(sim::HostId host);
  void restart(sim::HostId host, Time now);

  HostAgent& agent(sim::HostId host) { return *agents_[host]; }
  Ledger& ledger(std::size_t workload) { return *ledgers_[workload]; }
  std::size_t size() const { return ledgers_.size(); }
  /// The workload's number.
  std::optional<std::size_t> find(std::string_view name) const;
  const std::vector<std::unique_ptr<Traffic>>& traffic(std::size_t workload) const { return traffic_[workload]; }

  /// Those that have not finished first, at most kPairsTold.
  std::vector<PairOutcome> pairs(std::size_t workload) const;
  bool all_settled() const;
  void check_end(Time now);

 private:
  void make_streams(std::size_t workload, std::uint64_t& next_index);
  std::unique_ptr<Stream> make_stream(std::size_t workload, const StreamPlan& plan, const HostPair& pair,
                                      SharedCounter* counter);
  void make_flows(std::size_t workload, std::uint64_t& next_index);
  std::string stream_name(std::size_t workload, const HostPair& pair, std::uint32_t qp) const;
  void make_allreduce(std::size_t workload, std::uint64_t& next_index);
  SharedCounter* counter_of(std::size_t workload, sim::HostId target, std::uint64_t& next_index);

  sim::World& world_;
  const Scenario& scenario_;
  std::vector<std::unique_ptr<HostAgent>> agents_;
  std::vector<std::unique_ptr<Ledger>> ledgers_;
  std::vector<std::vector<std::unique_ptr<Traffic>>> traffic_;
  std::vector<std::vector<std::unique_ptr<FlowSource>>> flow_sources_;  // by workload
  struct CounterPlace {
    std::size_t workload;
    sim::HostId target;
    std::unique_ptr<SharedCounter> counter;
  };
  std::vector<CounterPlace> counters_;
  std::map<std::pair<std::size_t, sim::HostId>, std::size_t> counter_numbers_;  // of counters_
};

}  // namespace verbena::scenarios
