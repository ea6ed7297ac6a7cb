// NetworkLanes: the virtual lanes of a network whose ports are InfiniBand's: NetworkQos' classes with credits.
//
// Solely responsible for what credits change for frames: which of them may leave, what lies in which lane's buffer, the
// flow control packets on the wire, and the life of a queue's head. The counts are NetworkCredits'; queues and
// scheduling are NetworkQos'.
// Private to emulator/fabric.
// Tested by: tests/fabric/network_credits_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/fabric/network_credits.h"
#include "emulator/fabric/network_qos.h"

namespace verbena::fabric {

class NetworkLanes {
 public:
  /// Both belong to `network`, whose NetworkQos is made after it.
  NetworkLanes(Network::State& network, const Qos& qos);

  // -- A frame's way --------------------------------------------------------------------------------------------------
  /// It is at the far end of the direction, and lies in its lane's buffer.
  void arrived(DirectionNumber number, FrameNumber frame);
  /// It no longer lies there, if it did.
  void taken(Time now, FrameNumber frame);
  /// Its transmission begins.
  void leaves(Time now, DirectionNumber number, TrafficClass lane, std::uint32_t bytes);
  /// Finds which lanes wait for credit, and drops those heads whose life is over.
  void look_at_heads(Time now, DirectionNumber number);
  /// So much before the end of a frame the switch at the end of the direction sends it on, if it cuts through.
  Duration time_saved(DirectionNumber number, Duration wire_time) const;
  bool cuts_through(DirectionNumber number) const { return !cuts_through_.empty() && cuts_through_[number]; }
  /// When look_at_heads() or owes() has something to do; `free`: the wire is.
  Time due(Time now, DirectionNumber number, Time free) const;

  // -- Flow control packets -------------------------------------------------------------------------------------------
  bool owes(Time now, DirectionNumber number) const { return credits_.owes(now, number); }
  void send_flow_control(Time now, DirectionNumber number);
  void take_flow_control(Time now, DirectionNumber number, FrameNumber frame);

  // -- What changes ---------------------------------------------------------------------------------------------------
  void link_is_down(DirectionNumber number) { credits_.link_is_down(number); }
  void link_is_up(Time now, DirectionNumber number);
  void switch_is_up(Time now, std::uint32_t vertex);
  /// The rate of a cable is another: finds which directions have no faster cable in the switch at their end.
  void find_cuts_through();
  /// The host gives no room of these lanes back, whatever comes. 0: it does again.
  void withhold(Time now, DirectionNumber way_out, ClassMask lanes);

 private:
  void find_stalls(Time now, DirectionNumber number);
  /// So long a head may wait there. 0: for ever.
  Duration life_at(DirectionNumber number) const;
  void drop(Time now, DirectionNumber number, FrameNumber frame);
  NetworkQos::Port& port(DirectionNumber number) { return network_.qos->ports_[number]; }

  Network::State& network_;
  const Qos& qos_;
  NetworkCredits credits_;
  std::vector<bool> cuts_through_;  // of each direction; empty: no switch does
};

}  // namespace verbena::fabric
