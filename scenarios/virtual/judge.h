// Judge: a scenario's expectations, and those that every run has: held or not, and what was seen.
//
// Solely responsible for the verdicts. It counts while the run goes on what cannot be known afterwards: completions and
// packets within a time.
// Tested by: tests/scenarios/virtual/expectations_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "scenarios/outcome/checker_verdicts.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/virtual/round_trip_recorder.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/workload_set.h"

namespace verbena::scenarios {

class Judge final : public CompletionListener {
 public:
  Judge(const sim::World& world, const Scenario& scenario, WorkloadSet& workloads,
        const RoundTripRecorder& round_trips);

  void completed(std::size_t workload, const CompletionRecord& record) override;
  void observe(const sim::ObservedFrame& frame);
  /// The queue in front of a link, at a sample's time.
  void sampled(sim::LinkId link, Time time, std::uint32_t queue_octets);
  /// Whether observe() needs to be called.
  bool counts_packets() const { return !silences_.empty(); }

  /// Fills in Outcome::expectations; the rest of the outcome is complete.
  void judge(Outcome& outcome, sim::World& world, const CheckerReports& reports) const;

 private:
  struct Judgement {
    bool held = false;
    std::string observed;
    std::optional<double> value{};  // as a number
  };
  Judgement verdict(std::size_t index, const Outcome& outcome, sim::World& world, const CheckerReports& reports) const;
  Judgement completions(std::size_t index) const;
  /// What the expectation is about: the values of its sizes, or of all.
  const LatencyHistogram* of_sizes(std::size_t index, const LatencyHistogram* of_all) const;
  Judgement latency(std::size_t index, const WorkloadOutcome* result) const;
  Judgement slowdown(std::size_t index, const WorkloadOutcome* result) const;
  Judgement queue(std::size_t index) const;
  static Judgement pauses(const Expectation& expectation, const sim::World& world);
  Judgement rtt(const Expectation& expectation) const;
  Judgement data_intact(const Expectation& expectation, const Outcome& outcome) const;
  Judgement qp_state(const Expectation& expectation) const;
  Judgement counter(const Expectation& expectation, sim::World& world) const;
  Judgement finished(const Expectation& expectation, const Outcome& outcome) const;
  void judge_implied(Outcome& outcome, const CheckerReports& reports) const;
  bool is_expected(Expectation::Kind kind, const std::string& workload) const;

  const Scenario& scenario_;
  WorkloadSet& workloads_;
  const RoundTripRecorder& round_trips_;
  Time begin_;
  std::vector<std::uint64_t> counts_;                           // by expectation
  std::vector<std::vector<std::size_t>> completions_expected_;  // by workload: expectations
  std::vector<std::vector<std::size_t>> sizes_expected_;        // the same, with Expectation::sizes
  std::map<std::size_t, LatencyHistogram> of_sizes_;            // by expectation: its latencies or slowdowns
  std::vector<std::size_t> silences_;
  /// What an expectation has seen of queues.
  struct QueueSamples {
    std::vector<sim::LinkId> links;
    LatencyHistogram octets;
  };
  std::map<std::size_t, QueueSamples> queues_;  // by expectation
};

}  // namespace verbena::scenarios
