// LinkSampler: each link's load, queue and pauses over time, at the interval that the scenario's `sample:` says.
//
// Solely responsible for when links are looked at and for what is handed on of each: to the judge, whose expectations
// are of queues, and to links.csv. It changes nothing in the world, and draws nothing: a sampled run is the same run.
// Tested by: tests/scenarios/virtual/samples_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/sim/world.h"
#include "scenarios/virtual/judge.h"
#include "scenarios/virtual/out_directory.h"

namespace verbena::scenarios {

class LinkSampler {
 public:
  LinkSampler(const Scenario& scenario, Time begin, Judge& judge, OutDirectory& out);

  bool is_on() const { return next_ != kNever; }
  /// When the next sample is to be taken: all that happens at that time has happened.
  Time next() const { return next_; }
  void take(const sim::World& world);
  void end() { next_ = kNever; }

 private:
  struct Link {
    std::string name;
    std::uint64_t octets = 0;                                // up to the last sample
    bool was_idle = true;                                    // and the file says so
    std::array<Duration, fabric::kTrafficClasses> paused{};  // in all, up to the last sample
  };
  Duration paused_since_last(const sim::World& world, std::uint32_t link);

  Duration interval_;
  Time begin_;
  Time next_ = kNever;
  Judge& judge_;
  OutDirectory& out_;
  std::vector<Link> links_;  // 2 * cable + backward
};

}  // namespace verbena::scenarios
