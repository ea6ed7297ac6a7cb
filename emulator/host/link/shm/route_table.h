// RouteTable: the ways to the peers of a process, each by the number that it got when it was first asked for.
//
// Solely responsible for the numbers, and for finding the way that a frame is to go. What comes and goes on a way,
// ShmPeers says (shm_peers.h).
//
// Under the engine's lock.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/link/shm/shm_control.h"
#include "emulator/nic/objects/transmit_port.h"

namespace verbena::host {

/// The way to a peer, which may have a channel or not; `tx` changes as peers come and go.
struct ShmRoute {
  PeerName peer;
  std::shared_ptr<ShmChannel> tx;
  bool connecting = false;
  Time give_up_at{};
  Time retry_at{};
  std::uint32_t arrivals = 0;  // channels that the peer has made
};

class RouteTable {
 public:
  static constexpr std::size_t kRoutesMax = 1 << 16;

  RouteTable() { routes_.reserve(kPeersExpected); }

  /// Makes one for a new peer. Nothing: there are too many.
  std::optional<std::uint32_t> route_to(const PeerName& peer);
  std::optional<std::uint32_t> route_to(const nic::Destination& destination) {
    const std::uint8_t slot = slot_of(destination.qpn);
    if (destination.route_hint != 0 && destination.route_hint <= routes_.size()) {
      const std::uint32_t index = destination.route_hint - 1;
      const PeerName& peer = routes_[index].peer;
      if (peer.slot == slot && peer.address == destination.address) return index;
    }
    return route_without_hint(destination);
  }

  // By number, which stays; references do not.
  ShmRoute& operator[](std::size_t index) { return routes_[index]; }
  const ShmRoute& operator[](std::size_t index) const { return routes_[index]; }
  ShmRoute& front() { return routes_.front(); }
  std::size_t size() const { return routes_.size(); }
  auto begin() { return routes_.begin(); }
  auto end() { return routes_.end(); }
  void clear();

 private:
  struct PeerHash {
    std::size_t operator()(const PeerName& name) const;
  };

  std::optional<std::uint32_t> route_without_hint(const nic::Destination& destination);

  std::vector<ShmRoute> routes_;
  std::unordered_map<PeerName, std::uint32_t, PeerHash> route_of_;
};

}  // namespace verbena::host
