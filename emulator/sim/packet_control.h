// PacketControl: packets of a world that no NIC has made, and decisions about single ones.
//
// Solely for who plays a peer packet by packet (libverbena's packet scripts), or has to know each packet that a fault
// hits; who runs applications needs none of it. It owns nothing; the world outlives it.
#pragma once

#include <span>

#include "emulator/fabric/network_control.h"
#include "emulator/sim/world.h"

namespace verbena::sim {

/// Stands at the end of a host's cable in place of its NIC.
class StandIn {
 public:
  virtual ~StandIn() = default;
  /// `frame` is valid during the call. It may call World::at, and nothing else of the world.
  virtual void arrived(Time now, std::span<const std::byte> frame) = 0;
};

class PacketControl {
 public:
  explicit PacketControl(World& world) : state_(*world.state_) {}

  /// The host has no NIC from now on (as after World::crash), and what arrives there goes to `stand_in`, which outlives
  /// the world.
  void replace_nic(HostId host, StandIn* stand_in);
  /// A frame leaves from the host's port now, whoever is there. From tasks and from outside, not from observers.
  void send(HostId host, std::span<const std::byte> frame);
  /// See fabric::NetworkControl::intercept.
  void intercept(LinkId link, fabric::Interceptor* interceptor);
  /// See fabric::NetworkControl::watch_faults.
  void watch_faults(LinkId link, fabric::FaultWatcher* watcher);

 private:
  World::State& state_;
};

}  // namespace verbena::sim
