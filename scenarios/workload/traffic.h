// Traffic: one connection's worth of a workload, as the run sees it.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/nic/objects/attributes.h"
#include "emulator/sim/world.h"
#include "scenarios/outcome/outcome.h"
#include "wire/time.h"

namespace verbena::scenarios {

class Traffic {
 public:
  virtual ~Traffic() = default;
  /// At the workload's start: connects and posts.
  virtual void start(Time now) = 0;
  virtual void host_crashed(sim::HostId host) = 0;
  virtual void host_restarted(sim::HostId host, Time now) = 0;
  /// All messages have completed with success.
  virtual bool finished() const = 0;
  /// Finished, or failed with nothing more to come by itself.
  virtual bool settled() const = 0;
  virtual std::optional<nic::QpState> state(bool target_side) const = 0;
  /// What became of each of its connections.
  virtual void tell(std::vector<PairOutcome>& into) const = 0;
  /// Checks that only the end of the run allows.
  virtual void check_end(Time now) = 0;
};

}  // namespace verbena::scenarios
