// MessageTime: how long a message takes that has the network to itself: what the slowdown of a flow is measured by.
//
// Solely arithmetic on a way's cables: the frames of a message one behind the other, stored and forwarded at each
// switch, and the acknowledgement back. It knows no congestion, no window and no loss.
// Tested by: tests/scenarios/workload/flows_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/fabric/topology.h"
#include "scenarios/language/scenario.h"
#include "wire/time.h"

namespace verbena::scenarios {

/// One cable of a way.
struct WayCable {
  std::uint64_t rate_bits_per_second = 0;  // 0: frames take no time
  Duration propagation{};
};

/// Ways between hosts. Those from hosts of one switch are quick to find one after the other.
class ShortestWays {
 public:
  /// The topology outlives this.
  explicit ShortestWays(const fabric::Topology& topology);
  /// The cables of a shortest way; empty: there is none.
  std::vector<WayCable> find(std::uint32_t from, std::uint32_t to);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t other_end(std::uint32_t cable, std::uint32_t vertex) const;
  void grow_from(std::uint32_t root);

  const fabric::Topology& topology_;
  std::vector<std::vector<std::uint32_t>> cables_;  // of each vertex
  std::uint32_t root_;                              // from which ways are known
  std::vector<std::uint32_t> came_by_;              // by vertex: its cable towards the root
};

class MessageTime {
 public:
  /// `acknowledge_latency`: of the target's NIC. The verb is send, write or write with immediate.
  MessageTime(std::vector<WayCable> way, std::uint32_t mtu_bytes, Verb verb, Duration acknowledge_latency)
      : way_(std::move(way)), mtu_bytes_(mtu_bytes), verb_(verb), acknowledge_latency_(acknowledge_latency) {}

  /// From the post of a message of so many octets to its completion, on RC over IPv4.
  Duration alone(std::uint64_t octets) const;

 private:
  std::vector<WayCable> way_;
  std::uint32_t mtu_bytes_;
  Verb verb_;
  Duration acknowledge_latency_;
};

}  // namespace verbena::scenarios
