// HitRecorder: which packets faults have hit, in words that name each one exactly (qp, psn, iter of a link).
//
// Solely watching; it is attached only where somebody wants to run the same again with fewer hits (shrink.h).
// Tested by: tests/scenarios/virtual/faults_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/fabric/flow_table.h"
#include "emulator/sim/world.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct PacketHit {
  std::size_t fault = 0;  // which one of the scenario's
  sim::LinkId link;
  std::uint32_t flow = 0;
  std::uint32_t psn = 0;
  std::uint32_t iteration = 1;
  std::string opcode;  // empty: a request
};

class HitRecorder final : public fabric::FaultWatcher {
 public:
  static constexpr std::size_t kHitsMax = 4096;

  explicit HitRecorder(const Scenario& scenario);
  /// The world of one run of this scenario, where the number of a rule is that of its fault.
  void attach(sim::World& world);
  void judged(sim::LinkId link, const wire::PacketView& packet, std::span<const std::uint32_t> rules) override;
  const std::vector<PacketHit>& hits() const { return hits_; }
  /// Hits that cannot be named, or are too many to keep.
  std::uint64_t unnamed() const { return unnamed_; }

 private:
  std::map<sim::LinkId, fabric::FlowTable> flows_;  // of links that have rules
  std::vector<PacketHit> hits_;
  std::uint64_t unnamed_ = 0;
};

}  // namespace verbena::scenarios
