// NetworkCredits: the credits of all virtual lanes of a network whose ports are InfiniBand's.
//
// Solely responsible for who may send how much, and for when which flow control packet is due (IBA volume 1, 7.9.4). It
// knows directions by their numbers, and neither queues nor frames: those are NetworkQos', which asks it.
// Private to emulator/fabric.
// Tested by: tests/fabric/network_credits_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/fabric/link_credits.h"
#include "emulator/fabric/qos.h"
#include "emulator/fabric/routing.h"
#include "wire/infiniband.h"
#include "wire/time.h"

namespace verbena::fabric {

class NetworkCredits {
 public:
  explicit NetworkCredits(std::uint32_t lane_buffer_bytes) : lane_buffer_bytes_(lane_buffer_bytes) {}
  /// The next direction, in the order of their numbers; its ports know each other's buffers already, as those of a link
  /// that has come up have. kNoDirection: a loopback, which has no credits.
  void add(DirectionNumber reverse, std::uint64_t bits_per_second);

  // -- The sending end of a direction ---------------------------------------------------------------------------------
  bool may_send(DirectionNumber number, TrafficClass lane, std::uint32_t bytes) const {
    return links_[number].senders[lane].may_send(credit_blocks(bytes));
  }
  void sent(Time now, DirectionNumber number, TrafficClass lane, std::uint32_t bytes);
  /// Whether a flow control packet is to leave by this direction.
  bool owes(Time now, DirectionNumber number) const {
    return links_[number].to_tell != 0 || now >= links_[number].refresh_at;
  }
  /// When it will, if nothing else happens. kNever: it need not.
  Time due(DirectionNumber number) const { return links_[number].refresh_at; }
  /// One of those that it owes.
  wire::FlowControlPacket next(Time now, DirectionNumber number);

  // -- The receiving end ----------------------------------------------------------------------------------------------
  /// A packet has come and lies in the buffer until freed() gives its room back.
  void arrived(DirectionNumber number, TrafficClass lane, std::uint32_t bytes);
  /// True: the reverse direction now owes a packet that it did not.
  bool freed(DirectionNumber number, TrafficClass lane, std::uint32_t bytes);
  /// A flow control packet has come by the direction.
  void take(DirectionNumber number, const wire::FlowControlPacket& packet);
  /// These lanes' room is not given back until they are let go.
  void withhold(DirectionNumber number, ClassMask lanes);
  std::uint32_t free_blocks(DirectionNumber number, TrafficClass lane) const {
    return links_[number].receivers[lane].free_blocks();
  }

  // -- What changes ---------------------------------------------------------------------------------------------------
  /// The link of the direction is down: nothing may be sent until it is up and its far end has told of its room.
  void link_is_down(DirectionNumber number);
  void link_is_up(DirectionNumber number);

 private:
  struct Link {
    Link(DirectionNumber the_reverse, std::uint32_t buffer_bytes);

    DirectionNumber reverse;
    Duration refresh_after{};  // 65,536 symbols, 7.9.4: so long a lane's count may stay untold
    Time refresh_at = kNever;
    ClassMask sent_since = 0;  // lanes whose FCTBS has changed since it was told
    ClassMask to_tell = 0;     // lanes of the reverse direction whose far end has to know of room
    ClassMask withheld = 0;    // lanes of this direction
    std::array<LaneSender, kTrafficClasses> senders;
    std::array<LaneReceiver, kTrafficClasses> receivers;
    std::array<std::uint16_t, kTrafficClasses> told{};  // FCCL as it was last told of each receiver
    std::array<std::uint32_t, kTrafficClasses> withheld_blocks{};
  };

  std::uint32_t lane_buffer_bytes_;
  std::vector<Link> links_;
};

}  // namespace verbena::fabric
