// OutgoingFrames: the frames that a process puts into the rings of its peers, one after the other: room is reserved,
// the frame is written there, and is committed.
//
// Solely responsible for what was reserved last, for which rings have frames that nobody was told of, and for frames
// that go nowhere. Which ring a frame is for, ShmPeers says (shm_peers.h); whom to tell, its owner.
//
// Under the engine's lock.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/link/shm/shm_statistics.h"

namespace verbena::host {

class OutgoingFrames {
 public:
  /// `publish_bytes`: a longer batch becomes visible in parts. `stall_max`: a full ring that nobody empties for so long
  /// is a dead network.
  OutgoingFrames(ShmStatistics& statistics, std::size_t publish_bytes, Duration stall_max);

  std::span<std::byte> reserve_in(ShmChannel& channel, std::size_t bytes) {
    const std::span<std::byte> room = channel.tx.reserve(bytes);
    if (room.empty()) return reserve_in_full_ring(channel, bytes);
    current_ = &channel;
    return room;
  }
  /// Room for a frame that goes nowhere and is counted.
  std::span<std::byte> vanish(std::uint64_t& counter, std::size_t bytes);
  /// What was reserved last.
  void commit(std::size_t bytes, wire::IcrcState icrc) {
    if (current_ == nullptr) return count_vanished();
    commit_in(*current_, bytes, icrc);
  }
  void commit_in(ShmChannel& channel, std::size_t bytes, wire::IcrcState icrc) {
    // Before this frame, so that one is left for publish(), which fences and looks whether the peer sleeps.
    if (channel.tx.unpublished_bytes() >= publish_bytes_) channel.tx.publish(false);
    channel.tx.commit(bytes, icrc);
    if (channel.dirty) return;
    channel.dirty = true;
    dirty_.push_back(&channel);
  }
  /// Calls `publish(channel)` for those with committed frames.
  template <class Publish>
  void publish(Publish&& publish) {
    for (ShmChannel* channel : dirty_) {
      channel->dirty = false;
      publish(*channel);
    }
    dirty_.clear();
  }

  /// The channel goes.
  void forget(const ShmChannel& channel);
  void forget_all() { dirty_.clear(); }

 private:
  std::span<std::byte> reserve_in_full_ring(ShmChannel& channel, std::size_t bytes);
  void count_vanished();

  ShmStatistics& statistics_;
  const std::size_t publish_bytes_;
  const Duration stall_max_;
  std::vector<ShmChannel*> dirty_;
  ShmChannel* current_ = nullptr;  // reserved in; null: in scratch_
  std::uint64_t* vanish_counter_ = nullptr;
  alignas(64) std::array<std::byte, wire::kFrameBytesMax> scratch_;
};

}  // namespace verbena::host
