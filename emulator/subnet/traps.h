// Traps: what agents tell their subnet manager unasked, until it says that it knows (IBTA vol 1, 13.4.9, 14.3.4).
//
// Solely responsible for the datagram of a trap, for when it is sent again, and for when it is not sent at all. Which
// things are worth a trap the agents say, and Subnet brings it on its way.
// Tested by: tests/subnet/traps_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emulator/subnet/datagram.h"
#include "emulator/subnet/topology_file.h"
#include "wire/notice.h"
#include "wire/subnet_management.h"
#include "wire/time.h"

namespace verbena::subnet {

class Traps {
 public:
  static constexpr Duration kInterval = seconds(1);
  static constexpr unsigned kTimesMax = 5;

  /// The datagram to be sent. `info`: of the port whose LID `from` has. Nothing: the port knows no manager, or the trap
  /// is one of security and the port has sent such a one less than PortInfo's SubnetTimeOut ago (13.4.9): who provokes
  /// them could flood the manager.
  std::optional<Datagram> raise(Time now, PortEnd from, const wire::PortInfo& info, wire::Notice notice,
                                std::span<const std::byte> details);
  /// 14.3.9: who has got a trap says so.
  void repress(const Datagram& repression);
  /// What the node has said it says no more.
  void forget(std::size_t node);

  struct Sent {
    PortEnd from;
    Datagram datagram;
  };
  /// Those to be sent again now.
  std::vector<Sent> due(Time now);
  /// Nothing: none waits.
  std::optional<Time> next_deadline() const;

 private:
  struct Trap {
    PortEnd from;
    std::uint16_t number = 0;
    Datagram datagram;
    Time deadline;
    unsigned left = 0;  // 0: only `rests_until` counts
    Time rests_until;
  };
  std::vector<Trap> traps_;
  std::uint64_t transaction_ = 0;
};

}  // namespace verbena::subnet
