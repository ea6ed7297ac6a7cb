// FlowSource: the flows that one host sends of a workload with `load:`.
//
// Solely responsible for when they arrive and on which of the host's connections each goes: to one of its pairs, drawn
// evenly, on the QP of the pair that has fewest. Sending them is Stream's, which it does not own.
// Tested by: tests/scenarios/workload/flows_test.cc
#pragma once

#include <optional>
#include <vector>

#include "scenarios/workload/arrivals.h"
#include "scenarios/workload/host_agent.h"
#include "scenarios/workload/stream.h"

namespace verbena::scenarios {

class FlowSource final : public EndOwner {
 public:
  FlowSource(const Workload& workload, HostAgent& agent, const Arrivals::Load& load, std::uint64_t seed);

  const FlowFeed& feed() const { return feed_; }
  /// The QPs of one pair of hosts.
  void add_pair(std::vector<Stream*> streams) { pairs_.push_back(std::move(streams)); }
  sim::HostId host() const { return agent_.host(); }

  /// At the workload's start.
  void start(Time now);
  /// All begins anew.
  void host_restarted(Time now) {
    if (arrivals_) start(now);
  }

  void sent(const nic::Completion&, Time) override {}
  void received(const nic::Completion&, Time) override {}
  void woken(Time now) override;

 private:
  bool is_over(Time next) const;
  void hand_out(Time due, Time now);

  const Workload& workload_;
  HostAgent& agent_;
  Arrivals::Load load_;
  std::uint64_t seed_;
  EndId id_;
  FlowFeed feed_;
  std::vector<std::vector<Stream*>> pairs_;
  std::optional<Arrivals> arrivals_;
  Time begin_;
  std::uint64_t arrived_ = 0;
};

}  // namespace verbena::scenarios
