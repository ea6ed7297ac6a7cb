// DeadlockSearch: ports that wait for each other in a ring, each until the next one has sent something.
//
// Solely that search: it looks at what lies where and changes nothing. A paused direction, or a lane without credits,
// waits for the ports at its far end where its frames lie; those that may not go on wait in turn. What remains when
// all that can still go has gone never goes: a cyclic buffer dependency that has closed (Hu et al., "Deadlocks in
// Datacenter Networks: Why Do They Form, and How to Avoid Them", HotNets 2016).
// Private to emulator/fabric.
// Tested by: tests/fabric/network_qos_test.cc
#pragma once

#include <optional>
#include <vector>

#include "emulator/fabric/network_qos.h"

namespace verbena::fabric {

class DeadlockSearch {
 public:
  DeadlockSearch(const NetworkQos& qos, Time now) : qos_(qos), now_(now) {}
  /// Nothing: every frame can go on, once hosts take what is theirs.
  std::optional<PauseDeadlock> find();

 private:
  /// A direction one of whose pause groups is paused by the switch at its end, or one of whose lanes has no credit.
  struct Waiter {
    DirectionNumber direction = kNoDirection;
    TrafficClass group = 0;
    bool is_stuck = true;
    std::uint64_t waits_with = 0;  // octets that may stay before it goes on
    struct Edge {
      std::size_t to = 0;  // index of a waiter
      std::uint64_t octets = 0;
    };
    std::vector<Edge> edges;
  };

  void collect();
  /// The octets that may stay at the far end without keeping the direction's group from going on. Nothing: it may go.
  std::optional<std::uint64_t> may_stay(DirectionNumber number, TrafficClass group) const;
  void join(Waiter& waiter);
  /// False: nothing has changed.
  bool free_those_that_can_go();
  PauseDeadlock describe() const;

  const NetworkQos& qos_;
  Time now_;
  std::vector<Waiter> waiters_;
};

}  // namespace verbena::fabric
