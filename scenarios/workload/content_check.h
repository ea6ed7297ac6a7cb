// ContentCheck: what is in the messages of one connection, and whether it is where it should be.
//
// Solely the octets: filling sources before a post, verifying targets after completions. What cannot be known is not
// judged: on UC and UD only what was delivered, after a crash only what a completion vouches for.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/workload/connection.h"
#include "scenarios/workload/ledger.h"
#include "scenarios/workload/message_octets.h"
#include "scenarios/workload/message_plan.h"
#include "scenarios/workload/shared_counter.h"

namespace verbena::scenarios {

/// Where messages lie in the memory of a connection's ends: rings of slots.
struct MessageLayout {
  MessageLayout(const Workload& workload, const MessagePlan& messages);

  std::uint64_t depth = 0;         // slots of the initiator
  std::uint64_t target_slots = 0;  // UC: more than depth, as a completed write may still be on its way
  std::uint64_t slot_octets = 0;
  std::uint64_t receive_depth = 0;
  std::uint64_t receive_octets = 0;
  std::uint64_t receive_header = 0;  // in front of what was sent
  std::uint64_t receives_at = 0;     // in the target's memory
  std::uint64_t word_at = 0;         // compare and swap, in the target's memory
  std::uint64_t initiator_octets = 0;
  std::uint64_t target_octets = 0;

  std::uint64_t slot(std::uint64_t message) const { return message % depth * slot_octets; }
  std::uint64_t target_slot(std::uint64_t message) const { return message % target_slots * slot_octets; }
  std::uint64_t receive_slot(std::uint64_t receive) const {
    return receives_at + receive % receive_depth * receive_octets;
  }
};

class ContentCheck {
 public:
  struct Settings {
    std::string name;  // of the connection
    std::uint64_t seed = 0;
    bool enabled = true;
  };
  ContentCheck(Connection& connection, Ledger& ledger, const MessagePlan& messages, const MessageLayout& layout,
               const Settings& settings, SharedCounter* counter);

  /// A new connection, from message `first` on.
  void begin(std::uint64_t first);
  /// What compare_or_add and swap are to be.
  struct Operands {
    std::uint64_t compare_or_add = 0;
    std::uint64_t swap = 0;
  };
  /// Fills the message's source.
  Operands posting(std::uint64_t number, const Message& message, Time now);
  void posted(std::uint64_t number, const Message& message);
  void completed(std::uint64_t number, const Message& message, bool success, Time now);
  void received(std::uint64_t receive, const nic::Completion& completion, Time now);
  void check_end(Time now);

 private:
  bool lossy() const { return connection_.plan().transport != Transport::rc; }
  void verify(std::span<const std::byte> octets, std::uint64_t number, const char* what, Time now);
  void verify_unnotified_write(std::uint64_t number, Time now);
  bool may_hold(std::uint64_t number, std::size_t offset, std::byte octet) const;
  std::optional<std::uint64_t> message_received(const nic::Completion& completion, std::span<const std::byte> octets);
  void damaged(std::uint64_t number, const std::string& text, Time now);

  Connection& connection_;
  Ledger& ledger_;
  const MessagePlan& messages_;
  const MessageLayout& layout_;
  Settings settings_;
  MessageOctets octets_;
  SharedCounter* counter_;
  std::uint32_t counter_generation_ = 0;
  std::uint64_t first_ = 0;          // message of this connection
  std::uint64_t posted_ = 0;         // one behind the last
  std::uint64_t next_received_ = 0;  // RC: where to look for the next message that takes a receive
  std::uint64_t swaps_posted_ = 0;
  std::uint64_t swaps_completed_ = 0;
  std::uint64_t swaps_expected_ = 0;
  std::vector<std::uint64_t> held_;  // UC: per slot of the target, one more than the last message found whole in it
};

}  // namespace verbena::scenarios
