// RequestRange: which PSNs the requests of one direction had, so that an answer can be told whose it may be.
//
// A packet names only the queue pair that it goes to. Which two directions belong together is learned from the answers:
// they carry the PSN of what they answer. Solely the range; who is paired with whom is the user's decision
// (captures/conversations/conversations.h takes the best guess, scenarios/real/real_checkers.h only what is certain).
// Tested by: tests/captures/checkers/broken_test.cc
#pragma once

#include <cstdint>

#include "wire/opcode.h"
#include "wire/packet_view.h"

namespace verbena::checkers {

class RequestRange {
 public:
  /// `packet` is a request. The path MTU is not known, so a READ counts with the responses of the smallest.
  void note(const wire::PacketView& packet) {
    constexpr std::uint32_t kSmallestMtuBytes = 256;
    wire::Psn last = packet.bth().psn;
    constexpr std::uint32_t kManyResponses = 1 << 16;  // where a snap length has cut off how many
    if (packet.opcode().operation == wire::Operation::read_request)
      last = last + (packet.opcode().has_reth ? packet.reth().length / kSmallestMtuBytes : kManyResponses);
    if (!any_) {
      first_ = packet.bth().psn;
      highest_ = last;
    } else if (wire::distance(highest_, last) > 0) {
      highest_ = last;
    }
    any_ = true;
    // Beyond half the numbers "before" loses its meaning: from here on any answer may be meant.
    is_long_ = is_long_ || wire::distance(first_, highest_) > kLong;
  }
  bool any() const { return any_; }
  bool may_be_answered_by(wire::Psn psn) const {
    return any_ && (is_long_ || (wire::distance(first_, psn) >= 0 && wire::distance(psn, highest_) >= 0));
  }
  /// How many packets the last request is ahead of `psn`.
  std::int32_t ahead_of(wire::Psn psn) const { return wire::distance(psn, highest_); }

 private:
  static constexpr std::int32_t kLong = 1 << 22;  // a quarter of the PSNs

  wire::Psn first_;
  wire::Psn highest_;
  bool any_ = false;
  bool is_long_ = false;
};

}  // namespace verbena::checkers
