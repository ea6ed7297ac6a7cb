// MessageTime: how long a message takes that has the network to itself: what the slowdown of a flow is measured by.
//
// Solely arithmetic on a way's cables: the frames of a message one behind the other, stored and forwarded at each
// switch, and the acknowledgement back. It knows no congestion, no window and no loss.
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

/// The cables of a shortest way from host `from` to each host, by host; empty: there is none.
std::vector<std::vector<WayCable>> shortest_ways(const fabric::Topology& topology, std::uint32_t from);

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
