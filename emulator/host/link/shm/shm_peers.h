// ShmPeers: the processes that one process exchanges frames with over shared memory.
//
// Solely responsible for the channels to them: taking frames out of all rings, calling peers, and letting go of those
// that are gone. Which way is whose is in route_table.h, the way into the rings in outgoing_frames.h, what is a peer's
// doorbell in peer_watch.h, who else is there in peer_search.h, rings in shm_ring.h, memory in shm_channel.h,
// connections in shm_control.h. Whom a process sends to and how it publishes differs between a process on a direct
// cable (shm_cable.h), one plugged into a fabric (shm_uplink.h) and the fabric process itself
// (fabric_process/shm_ports.h): each of these owns one of this. No lock and no pointer lies in shared memory, so that a
// process killed at any instruction leaves the others whole; its frames vanish as with a dead NIC.
//
// Under the engine's lock but for flush() and fork_guard().
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/host/link/fork_guard.h"
#include "emulator/host/link/frame_port.h"
#include "emulator/host/link/shm/deferred_work.h"
#include "emulator/host/link/shm/outgoing_frames.h"
#include "emulator/host/link/shm/peer_search.h"
#include "emulator/host/link/shm/peer_watch.h"
#include "emulator/host/link/shm/route_table.h"
#include "emulator/host/link/shm/shm_control.h"
#include "emulator/host/link/shm/shm_statistics.h"

namespace verbena::host {

class ShmPeers final : private DeferredWork::Runner, private ForkGuard {
 public:
  static constexpr Duration kStallMax = milliseconds(200);
  struct Options {
    std::size_t publish_bytes = kPublishBytes;      // a longer batch becomes visible in parts
    std::size_t depth_bytes = kRingBytes;           // of what waits for a peer
    std::size_t rewind_room = kRingRewindBytesMin;  // RingWriter
    Duration stall_max = kStallMax;                 // a full ring that nobody empties for so long is a dead network
    PeerWatch::Options watch{};
    SlotRange slots{};  // of the node's, one of which it takes
  };
  /// Takes a seat at `address`. The error is one line for the user.
  static Result<std::unique_ptr<ShmPeers>, std::string> open(const std::string& fabric, const wire::Gid& address,
                                                             const Options& options);
  ~ShmPeers() override;

  ShmControl& control() { return *control_; }
  const PeerName& own_name() const { return own_name_; }
  OwnPage& page() { return page_; }
  PeerWatch& watch() { return watch_; }
  ShmStatistics& statistics() { return statistics_; }
  ForkGuard& fork_guard() { return *this; }

  // -- Ways --
  using Route = ShmRoute;
  RouteTable& routes() { return routes_; }
  /// All that may hold frames for us.
  const std::vector<std::shared_ptr<ShmChannel>>& channels() const { return channels_; }
  /// A channel of this process with itself. False: there is no memory.
  bool add_loopback();
  /// Has the peer called with the next flush().
  void call(Route& route);
  /// Takes in who has called, answered or gone.
  void apply_changes();
  PeerSearch& search() { return search_; }

  // -- Sending --
  /// Room on the way to a peer, which is called if there is no channel.
  std::span<std::byte> reserve(std::uint32_t route, std::size_t bytes);
  OutgoingFrames& outgoing() { return outgoing_; }

  // -- Receiving --
  /// `turn(channel)` says how many octets may come out of a channel, up to the end of a frame.
  template <class Turn>
  std::size_t take_frames(FrameSink& sink, std::size_t budget, Turn&& turn);
  /// Asks to be rung. False: there is something to do that `turn` admits.
  template <class Turn>
  bool arm(Turn&& turn);

  /// Outside of the lock. Returns whether ways to peers were made.
  bool flush();

  static constexpr std::size_t kPublishBytes = 16 * 1024;
  static constexpr Duration kRetryInterval = milliseconds(20);
  static constexpr Duration kConnectMax = seconds(1);

 private:
  ShmPeers(std::unique_ptr<ShmControl> control, std::string fabric, const Options& options);
  std::span<std::byte> reserve_without_channel(Route& route, std::size_t bytes);
  void take_in(ShmControl::Change& change, std::uint32_t index);
  void drop_dead_channels();
  void leave_route(const ShmChannel& channel);
  void remove(std::size_t index);
  void run(const DeferredWork::Item& item) override;
  void hold_for_fork() override;
  void release_after_fork() override;
  void abandon_after_fork() override;

  const Options options_;
  std::unique_ptr<ShmControl> control_;
  const PeerName own_name_;
  OwnPage page_;
  ShmStatistics statistics_;
  DeferredWork deferred_;
  OutgoingFrames outgoing_;
  PeerWatch watch_;
  PeerSearch search_;
  RouteTable routes_;
  std::vector<std::shared_ptr<ShmChannel>> channels_;
  std::vector<ShmControl::Change> arriving_;
  std::size_t first_ = 0;  // whose turn it is in take_frames()
};

/// Whether frames lie in any ring.
bool has_waiting_frames(const ShmPeers& peers);
/// Frames of a process that has gone from there are not taken yet.
bool is_draining(const ShmPeers& peers, std::uint32_t route);

template <class Turn>
std::size_t ShmPeers::take_frames(FrameSink& sink, std::size_t budget, Turn&& turn) {
  if (control_->has_changes()) apply_changes();
  page_.serves();
  std::size_t count = 0;
  const std::size_t channels = channels_.size();
  if (++first_ >= channels) first_ = 0;
  bool ended = false;
  for (std::size_t i = 0; i < channels && count < budget; ++i) {
    ShmChannel& channel = *channels_[first_ + i < channels ? first_ + i : first_ + i - channels];
    const std::size_t admitted = turn(channel);
    std::size_t octets = 0;
    const auto deliver = [&](std::span<const std::byte> frame, wire::IcrcState icrc) {
      sink.frame(frame, icrc);
      octets += frame.size();
      return octets < admitted;
    };
    if (admitted != 0) count += channel.rx.read(budget - count, deliver);
    ended = ended || channel.dead.load(std::memory_order_relaxed) || channel.rx.broken();
  }
  if (ended) drop_dead_channels();
  return count;
}

template <class Turn>
bool ShmPeers::arm(Turn&& turn) {
  watch_.forget_drained();
  return page_.doorbell().arm([&] {
    if (control_->has_changes()) return true;
    for (const auto& channel : channels_)
      if (channel->rx.waiting() && turn(*channel) != 0) return true;
    return false;
  });
}

}  // namespace verbena::host
