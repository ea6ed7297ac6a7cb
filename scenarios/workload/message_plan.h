// MessagePlan: what the messages of one connection of a workload are: verb and size of the n-th, and who consumes
// receives.
//
// Solely a function of (workload, connection's seed, number): both ends compute it, nothing is kept.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

struct Message {
  Verb verb = Verb::write;  // never `mixed`
  std::uint32_t octets = 0;
};

class MessagePlan {
 public:
  MessagePlan(const Workload& workload, std::uint64_t seed);
  Message message(std::uint64_t number) const;

  std::uint32_t octets_max() const { return octets_max_; }
  /// Whether messages with this verb occur at all.
  bool has(Verb verb) const;
  bool has_receives() const { return has(Verb::send) || has(Verb::write_immediate); }
  /// Messages that read or write the target's slots.
  bool has_target_slots() const { return has(Verb::write) || has(Verb::write_immediate) || has(Verb::read); }

 private:
  Verb verb(std::uint64_t number) const;

  const Workload& workload_;
  std::uint64_t seed_;
  std::uint64_t weights_ = 0;
  std::uint32_t octets_max_ = 0;
};

constexpr bool consumes_receive(Verb verb) {
  return verb == Verb::send || verb == Verb::write_immediate;
}
constexpr bool is_atomic(Verb verb) {
  return verb == Verb::compare_swap || verb == Verb::fetch_add;
}

}  // namespace verbena::scenarios
