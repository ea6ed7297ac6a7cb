// SubnetForwarding: a packet's way through a managed subnet: from port to port by what a subnet manager has programmed.
//
// Solely responsible for the tables of switches and ports, for what passes by them and in which lane, and for what the
// ports count. Who programs them comes by network_subnet.h. Queues and credits are NetworkQos' and NetworkLanes', the
// wire is Network's.
// Private to emulator/fabric.
// Tested by: tests/fabric/network_subnet_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "emulator/fabric/lane_arbiter.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/network_subnet.h"

namespace verbena::wire {
struct LocalRouteHeader;
}

namespace verbena::fabric {

class EgressPort;

class SubnetForwarding {
 public:
  /// It belongs to `network`, whose topology is managed.
  explicit SubnetForwarding(Network::State& network);

  // -- A packet's way -------------------------------------------------------------------------------------------------
  /// The host hands it over: it gets its lane. Where to: kBySubnet, the host itself, or kNoHost.
  std::uint32_t enter(std::uint32_t host, FrameNumber frame);
  /// It is at the far end of the direction.
  void arrive(Time now, DirectionNumber number, FrameNumber frame, Sink& sink);
  /// The lane that its LRH names.
  TrafficClass lane_of(FrameNumber frame) const;
  /// Which lane of the direction sends now.
  std::optional<TrafficClass> choose(Time now, DirectionNumber number, EgressPort& egress);
  /// Its transmission by the direction begins.
  void leaves(DirectionNumber number, FrameNumber frame);
  /// It was to leave by the direction; the reason is one of the counters of discards.
  void is_discarded(DirectionNumber number, std::uint64_t PortTraffic::* reason) {
    ++ports_[number].traffic.sent_discards;
    ++(ports_[number].traffic.*reason);
  }
  Duration head_of_queue_life(DirectionNumber number) const;
  /// As NetworkSubnet::loops(). In forwarding_loops.cc.
  std::vector<ForwardingLoop> loops(std::size_t most) const;

  // -- What changes ---------------------------------------------------------------------------------------------------
  /// The cable, or the switch at one of its ends, is dead or is there again.
  void signal_changes(std::uint32_t cable);

 private:
  friend class NetworkSubnet;

  /// The port from which a direction leaves.
  struct Port {
    std::uint8_t number = 0;
    wire::PortState state = wire::PortState::init;
    bool enforces_inbound = false;
    bool enforces_outbound = false;
    DirectionNumber reverse = kNoDirection;
    std::vector<std::uint16_t> keys;
    std::vector<LanesOfLevels> lanes;  // by the number of the port by which a packet came
    LaneArbiter arbiter;
    std::optional<Duration> head_life;
    PortTraffic traffic;
  };
  struct Switch {
    std::vector<DirectionNumber> ways;  // by the number of a port
    std::vector<std::uint8_t> forwarding;
    std::vector<std::vector<std::uint8_t>> groups;  // by MLID, from kLidMulticastMin
  };
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct Way {
    DirectionNumber number = kNoDirection;
    TrafficClass lane = 0;
  };

  // -- Where a packet goes
  wire::LocalRouteHeader lrh_of(FrameNumber frame) const;
  bool owns(std::uint32_t host, wire::Lid lid) const;
  DirectionNumber way_of(const Switch& from, std::uint8_t port) const;
  DirectionNumber data_way(std::size_t from, std::uint32_t lid) const;
  void relay(Time now, DirectionNumber number, FrameNumber frame);
  using RelayError = std::uint64_t PortTraffic::*;
  RelayError find_way(Port& in, const Switch& at, FrameNumber frame);
  RelayError find_group_ways(Port& in, const Switch& at, FrameNumber frame);
  /// The packet may leave by `out`, and in which lane. False: that is counted.
  bool add_way(Port& in, DirectionNumber out, FrameNumber frame);
  void send(Time now, Way way, FrameNumber frame);
  void deliver(Time now, DirectionNumber number, FrameNumber frame, Sink& sink);
  void drop(Time now, DirectionNumber number, FrameNumber frame, std::string_view why);

  // -- What is in a packet
  void set_lane(FrameNumber frame, TrafficClass lane);
  bool is_damaged(FrameNumber frame) const;
  /// It is; that is counted, at the first port as an error of its cable.
  bool has_errors(Port& in, FrameNumber frame);
  /// Whether one of the P_Keys matches the packet's of the port from which the direction leaves. If not, it is noted.
  bool admits(DirectionNumber way, FrameNumber frame);
  bool is_cut_off(std::uint32_t host, wire::Lid source) const;

  // -- For NetworkSubnet
  /// kNoDirection: there is no such port.
  DirectionNumber way_out(std::uint32_t vertex, std::uint8_t port) const;
  void set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc);
  void discard_waiting(Time now, DirectionNumber number);
  void set_port_state(Time now, DirectionNumber number, wire::PortState state);

  Network::State& network_;
  std::vector<Port> ports_;            // by direction
  std::vector<Switch> switches_;       // behind the hosts
  std::vector<Range> lids_;            // of each host
  std::vector<std::uint32_t> owners_;  // of each unicast LID: its host
  std::vector<bool> had_signal_;       // of each cable
  std::vector<Way> ways_;              // of the packet that is being relayed
  std::vector<PartitionViolation> violations_;
};

}  // namespace verbena::fabric
