// HitRecorder: which packets faults have hit, in words that name each one exactly (qp, psn, iter of a link).
//
// Solely watching; it is attached only where somebody wants to run the same again with fewer hits (shrink.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/fabric/flow_table.h"
#include "emulator/sim/world.h"
#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct PacketHit {
  std::string rule;  // its text
  sim::LinkId link;
  std::uint32_t flow = 0;
  std::uint32_t psn = 0;
  std::uint32_t iteration = 1;
  std::string opcode;  // empty: a request
};

class HitRecorder {
 public:
  static constexpr std::size_t kHitsMax = 4096;

  explicit HitRecorder(const Scenario& scenario);
  void observe(const sim::ObservedFrame& frame);
  const std::vector<PacketHit>& hits() const { return hits_; }
  /// Hits that cannot be named, or are too many to keep.
  std::uint64_t unnamed() const { return unnamed_; }

 private:
  struct Link {
    fabric::FlowTable flows{{.iterations = true}};
    std::vector<std::string> rules;
  };
  std::map<sim::LinkId, Link> links_;  // that have rules
  std::vector<PacketHit> hits_;
  std::uint64_t unnamed_ = 0;
};

}  // namespace verbena::scenarios
