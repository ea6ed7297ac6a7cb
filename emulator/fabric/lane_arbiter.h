// LaneArbiter: which lane of a port sends next, by the tables that a subnet manager has given it.
//
// Solely the turns of VLArbitration (IBA volume 1, 7.6.9). It knows lanes by their numbers and packets by their sizes;
// neither queues nor credits. Nothing is allocated but by set().
// Tested by: tests/fabric/lane_arbiter_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/fabric/network_subnet.h"
#include "emulator/fabric/qos.h"

namespace verbena::fabric {

class LaneArbiter {
 public:
  /// Of each lane the octets of its first packet; 0: it has none that may go.
  using Heads = std::array<std::uint16_t, kTrafficClasses>;

  void set(const LaneArbitration& arbitration);
  /// There is an entry that has a weight.
  bool is_set() const { return !high_.entries.empty() || !low_.entries.empty(); }
  /// The lane whose first packet is now sent; nothing: no lane has one. A lane that is in neither list has its turn
  /// when no other has anything to send.
  std::optional<TrafficClass> choose(const Heads& heads);

 private:
  struct List {
    std::vector<LaneArbitration::Entry> entries;  // of lanes that there are, with weights
    std::size_t active = 0;
    std::int64_t left = 0;  // octets that the active entry may still begin to send

    void set(const std::vector<LaneArbitration::Entry>& given);
    std::optional<TrafficClass> choose(const Heads& heads);
  };
  bool may_send_high() const {
    return limit_ == LaneArbitration::kUnlimited || high_octets_ == 0 || high_octets_ < limit_ * kLimitOctets;
  }

  static constexpr std::uint64_t kLimitOctets = 4096;

  List high_;
  List low_;
  std::uint8_t limit_ = 0;
  std::uint64_t high_octets_ = 0;  // sent since the low list had its chance
};

}  // namespace verbena::fabric
