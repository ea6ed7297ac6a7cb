// GroupFlood: a group's frames on direct cables: every process of the fabric gets a copy, as from a switch that floods.
//
// Solely that. Who is there stands in the node directory, which is looked into again while group frames leave, outside
// the engine's lock. The first such frame waits for the look and for the calls that follow from it; later ones do not.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "emulator/host/link/shm/shm_peers.h"

namespace verbena::host {

class GroupFlood {
 public:
  explicit GroupFlood(ShmPeers& peers) : peers_(peers) {}

  std::span<std::byte> reserve(std::size_t bytes);
  void commit(std::size_t bytes, wire::IcrcState icrc);

  static constexpr Duration kLookAroundInterval = milliseconds(100);

 private:
  bool all_are_met();

  ShmPeers& peers_;
  bool has_looked_ = false;
  bool has_met_all_ = false;  // that were there at the first look
  Time looked_around_at_{};
  std::vector<PeerName> found_;
  alignas(64) std::array<std::byte, wire::kFrameBytesMax> frame_;
};

}  // namespace verbena::host
