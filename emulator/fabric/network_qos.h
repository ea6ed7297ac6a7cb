// NetworkQos: a network whose ports have a queue for each traffic class, whose switches have one memory, and in which
// the ends of a cable ask each other to pause. With credits instead, memory and pauses are NetworkLanes' lanes.
//
// Solely responsible for what lies between a frame's arrival at a port and its departure from it: class, admission to
// the switch's memory, ECN mark, the wait for the port's scheduler, and for pause frames: when they are sent and what
// they stop. The wire itself is Network's, as in a network without classes, which has none of this.
// Private to emulator/fabric.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/egress_port.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/qos.h"
#include "emulator/fabric/switch_memory.h"

namespace verbena::fabric {

class NetworkQos {
 public:
  /// `qos` has passed check() with the topology; both belong to `network`.
  NetworkQos(Network::State& network, const Qos& qos);

  /// A frame is to leave by the direction, which is no loopback.
  void enqueue(Time now, DirectionNumber number, FrameNumber frame);
  /// Sends what may go, and finds when to look again.
  void serve(Time now, DirectionNumber number);
  /// When serve() has something to do.
  Time due(DirectionNumber number) const { return ports_[number].due; }
  /// A pause frame is at the far end of the direction.
  void take_pause_frame(Time now, DirectionNumber number, FrameNumber frame);
  /// `made` is a copy of `frame`.
  void copied(FrameNumber frame, FrameNumber made) {
    Held held = held_of(frame);
    held.lies_in_buffer = false;  // a copy takes no room of the lane's
    held_of(made) = held;
  }

  // -- What changes ---------------------------------------------------------------------------------------------------
  /// The direction, or the switch that it comes from, is dead.
  void lose_all(Time now, DirectionNumber number);
  /// A switch that is dead asks nobody to pause any more.
  void forget_pauses_of(Time now, std::uint32_t vertex);
  /// The cable is there again: who is to pause, or who has room, has to be told anew.
  void link_is_up(Time now, DirectionNumber number);
  /// The host pauses these classes of what comes to it, whatever comes. 0: no longer.
  void set_pause_storm(Time now, DirectionNumber way_out, ClassMask classes);

  // -- What hosts ask -------------------------------------------------------------------------------------------------
  /// When the way out of a host has room for one more frame with this traffic class octet of its IP header.
  Time has_room_at(Time now, DirectionNumber way, std::uint8_t ip_traffic_class) const;
  /// The same for a frame of any class, in octets (Network::room_on_every_way).
  Room room(Time now, DirectionNumber way, ClassMask held) const;

  // -- What can be seen -----------------------------------------------------------------------------------------------
  const EgressPort& egress(DirectionNumber number) const { return ports_[number].egress; }
  PauseStatistics pause_statistics(Time now, DirectionNumber number) const;
  const std::optional<PauseDeadlock>& deadlock() const { return deadlock_; }

 private:
  friend class DeadlockSearch;  // pause_deadlock.cc
  friend class NetworkLanes;    // network_lanes.cc
  friend class SubnetForwarding;

  /// Of a frame that waits at a port, or is on its way to one.
  struct Held {
    DirectionNumber came_by = kNoDirection;
    TrafficClass traffic_class = 0;
    bool lies_in_buffer = false;   // with credits: at the far end of `came_by`
    TrafficClass buffer_lane = 0;  // in the buffer of this lane
    bool is_bad = false;           // found damaged, and on its way all the same: its end says so
  };
  /// One direction of a cable: the port that it leaves from, and what its frames hold where they arrive.
  struct Port {
    Port(const Qos& qos, DirectionNumber the_reverse) : egress(qos), reverse(the_reverse) {}

    EgressPort egress;
    IngressPort ingress;
    DirectionNumber reverse;
    Time due = kNever;
    // Pause frames that leave here, about what comes by the reverse direction.
    ClassMask to_tell = 0;      // groups whose state the other end does not know yet
    ClassMask told_paused = 0;  // groups that it was told to pause
    ClassMask storm = 0;        // classes that a fault pauses
    Time refresh_at = kNever;
    // The watchdog's: classes for which nobody waits any more.
    ClassMask given_up = 0;
    std::array<Time, kTrafficClasses> last_pause{};
    PauseStatistics statistics;
  };

  Held& held_of(FrameNumber frame);
  bool is_from_switch(DirectionNumber number) const;
  SwitchMemory& memory_at(std::uint32_t vertex);

  /// Whether the switch has room for the frame; if not, it has ended.
  bool admit(Time now, DirectionNumber number, FrameNumber frame);
  /// It no longer lies in the memory of the switch that the direction comes from.
  void release(Time now, DirectionNumber number, FrameNumber frame);
  void mark_behind_queue(DirectionNumber number, FrameNumber frame);
  void lose(Time now, DirectionNumber number, FrameNumber frame, std::string_view why);
  /// What came by `number` is to be paused, or may go on.
  void tell(Time now, DirectionNumber number, TrafficClass group);
  ClassMask groups_to_pause(const Port& port) const;
  void send_pause_frame(Time now, DirectionNumber number);
  void watch_pauses(Time now, DirectionNumber number);
  void give_up(Time now, DirectionNumber number, TrafficClass traffic_class);
  Time find_due(Time now, DirectionNumber number) const;
  Time watchdog_due(Time now, DirectionNumber number) const;
  void look_for_deadlock(Time now);

  Network::State& network_;
  const Qos& qos_;
  std::vector<Port> ports_;             // by direction; those of loopbacks are not used
  std::vector<SwitchMemory> memories_;  // of each switch
  std::vector<Held> held_;              // by frame
  Time next_deadlock_look_{};
  std::optional<PauseDeadlock> deadlock_;  // the first one
};

}  // namespace verbena::fabric
