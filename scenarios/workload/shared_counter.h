// SharedCounter: one word at a target that all connections of a workload to it add one to; each addition must happen
// exactly once.
//
// Solely the word, its registration, and the check: every original value is seen once at most, and in the end the word
// is the number of additions.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scenarios/workload/host_agent.h"

namespace verbena::scenarios {

class SharedCounter {
 public:
  SharedCounter(HostAgent& target, std::uint64_t iova, bool payload)
      : target_(target), iova_(iova), payload_(payload) {}

  /// Registers it, in every life of the target anew. False: refused, or the target is down.
  bool make_ready();
  /// Counts what make_ready() has made: results of earlier words say nothing of this one.
  std::uint32_t generation() const { return generation_; }
  std::uint64_t address() const { return iova_; }
  std::uint32_t rkey() const { return region_.rkey; }

  void posted() { ++posted_; }
  /// False: this original value was given to somebody before, or cannot be.
  bool completed(std::uint64_t original);
  /// What is wrong with the final value, if anything.
  std::optional<std::string> wrong_total() const;

 private:
  HostAgent& target_;
  std::uint64_t iova_;
  bool payload_;
  std::unique_ptr<std::uint64_t> word_;
  nic::MemoryRegion region_;
  std::uint32_t generation_ = 0;
  std::uint32_t life_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::map<std::uint64_t, std::uint64_t> seen_;  // first value of a run of values -> one behind its last
};

}  // namespace verbena::scenarios
