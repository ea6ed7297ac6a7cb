// NetworkSubnet: what a subnet manager has programmed into the switches and ports of a Network, and what its agents can
// read there.
//
// Solely responsible for setting the tables by which packets go and for reading the ports' counters. It knows neither
// datagrams of management nor agents: those are emulator/subnet's, and do not travel through the network. How a packet
// follows the tables is subnet_forwarding.h's. It owns nothing; the network outlives it.
//
// A network whose topology is managed (Topology::is_managed) begins with ports in the state `init` and without LIDs,
// and nothing passes. Ports are named by vertex and number (Topology::port_of); a host has port 1. A port that is not
// there is passed over.
//
// Where it is not as hardware: lanes 8 to 14 are not there, and a table that leads to one drops. A packet for a switch
// itself, port 0, is dropped: only management sends such. The life of a packet in a switch is not limited but by that
// of a queue's head. An armed port stays armed when a packet comes (7.2.7 makes it active). Tables survive a dead
// switch: who emulates its loss sets them anew. Network::reachability() and port_is_up() speak of cables alone.
// Tested by: tests/fabric/network_subnet_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/fabric/network.h"
#include "wire/lid.h"
#include "wire/notice.h"
#include "wire/subnet_management.h"

namespace verbena::fabric {

/// By service level. 15: a packet of this level is dropped, and so it is by any lane that a port has not.
using LanesOfLevels = std::array<std::uint8_t, 16>;
inline constexpr std::uint8_t kLaneDropped = 15;
inline constexpr std::uint8_t kLmcMax = 7;

/// How the lanes of a port take turns (VLArbitration, IBA volume 1, 7.6.9): those of the high list first, each list by
/// itself in the ratio of its weights.
struct LaneArbitration {
  struct Entry {
    std::uint8_t lane = 0;
    std::uint8_t weight = 0;  // of 64 octets; 0: the entry is passed over
    bool operator==(const Entry&) const = default;
  };
  static constexpr std::uint8_t kUnlimited = 255;
  std::vector<Entry> high;
  std::vector<Entry> low;
  /// After so many times 4096 octets of the high list the low one has its turn. 0: after one packet.
  std::uint8_t high_limit = 0;
  bool operator==(const LaneArbitration&) const = default;
};

/// What a port has counted, since the network was made (IBA volume 1, 16.1.3.5 and 16.1.4). Link packets do not count.
struct PortTraffic {
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_octets = 0;  // without the VCRC; PortXmitData is a quarter of it
  std::uint64_t sent_multicast_packets = 0;
  std::uint64_t received_packets = 0;  // damaged ones included
  std::uint64_t received_octets = 0;
  std::uint64_t received_multicast_packets = 0;
  /// There was something to send, and no credit: PortXmitWait. Of the lane that has waited longest.
  Duration sent_wait{};
  std::uint64_t sent_discards = 0;           // for one of the next three reasons, or it had no lane at its host
  std::uint64_t sent_inactive_discards = 0;  // the port was not active
  std::uint64_t sent_mtu_discards = 0;       // it was longer than what the other end takes
  std::uint64_t sent_life_discards = 0;      // as the head of a queue it was too old
  std::uint64_t symbol_errors = 0;           // each damaged packet is one
  std::uint64_t receive_errors = 0;          // its VCRC was wrong
  std::uint64_t remote_errors = 0;           // an earlier port found it damaged, and a switch had sent it on
  std::uint64_t relay_errors = 0;            // the sum of the next three
  std::uint64_t unknown_lid_errors = 0;      // there was no way out for it
  std::uint64_t lane_errors = 0;             // there was no lane
  std::uint64_t looping_errors = 0;          // its way out was the one by which it came
  std::uint64_t sent_constraint_errors = 0;  // the port's P_Keys kept it back
  std::uint64_t received_constraint_errors = 0;
  std::uint64_t misdirected = 0;  // came to a host for a LID that its port has not; no PMA counts these
};

/// A packet that the P_Keys of a switch's port kept back.
struct PartitionViolation {
  std::uint32_t vertex = 0;
  std::uint8_t port = 0;
  wire::BadKeyDetails packet;
};

class NetworkSubnet {
 public:
  /// The network's topology is managed.
  explicit NetworkSubnet(Network& network);

  // -- Addresses and ways ---------------------------------------------------------------------------------------------
  /// The port of a host answers to `base` and to the 2^lmc LIDs from there on; kLidNone: to none.
  void set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc);
  /// Part of a switch's linear forwarding table: the ports of `first` and the LIDs behind it. 255, or a port that is
  /// not there: what is for this LID is dropped. So it is for LIDs that were never set.
  void set_forwarding(std::uint32_t vertex, wire::Lid first, std::span<const std::uint8_t> ports);
  /// All ports of a switch by which packets for the group leave. They do not go back where they came from.
  void set_multicast(std::uint32_t vertex, wire::Lid group, std::span<const std::uint8_t> ports);

  // -- Ports ----------------------------------------------------------------------------------------------------------
  /// Data leaves by an active port and enters an armed or an active one. What waits at a port that is active no longer
  /// is discarded. A port whose cable has no signal is `down` whatever is set, and `init` once it has one again: who
  /// programs it sets it then.
  void set_port_state(Time now, std::uint32_t vertex, std::uint8_t port, wire::PortState state);
  wire::PortState port_state(std::uint32_t vertex, std::uint8_t port) const;
  /// SLtoVL: the lane of what came in by `in` (of a host: 0) and leaves by `out`. By default the level modulo 8.
  void set_lanes(std::uint32_t vertex, std::uint8_t in, std::uint8_t out, const LanesOfLevels& lane_of_level);
  /// Without an entry that has a weight: all lanes take turns. A lane in neither list has its turn when no other has
  /// anything to send.
  void set_arbitration(std::uint32_t vertex, std::uint8_t port, const LaneArbitration& arbitration);
  /// So long the first packet of a lane may wait there (HOQLife) before it is dropped. 0: for ever. Not of a host's
  /// port. By default Qos::head_of_queue_life.
  void set_head_of_queue_life(std::uint32_t vertex, std::uint8_t port, Duration life);
  /// NeighborMTU: a packet with more payload is discarded before it leaves by the port. By default the cable's `mtu`.
  void set_mtu(std::uint32_t vertex, std::uint8_t port, std::uint32_t bytes);
  /// P_Key enforcement at the port of a switch: of what comes in by it, and of what leaves by it. A packet passes if
  /// one of `keys` names its partition. Membership is what the receiver compares (IBA volume 1, 10.9.3).
  void set_partitions(std::uint32_t vertex, std::uint8_t port, std::span<const std::uint16_t> keys, bool inbound,
                      bool outbound);

  // -- What can be seen -----------------------------------------------------------------------------------------------
  PortTraffic traffic(Time now, std::uint32_t vertex, std::uint8_t port) const;
  /// Those since the last call, the oldest first: at most kViolationsMax, of more the later are only counted.
  static constexpr std::size_t kViolationsMax = 16;
  std::vector<PartitionViolation> take_violations();
  bool has_violations() const;
  /// As the tables are now, by ports that data can pass; at most so many. Of a network that is not managed: none. Looks
  /// at each LID in each switch.
  static std::vector<ForwardingLoop> loops(const Network& network, std::size_t most);

 private:
  Network::State& state_;
};

}  // namespace verbena::fabric
