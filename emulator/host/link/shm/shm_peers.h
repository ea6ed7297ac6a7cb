// ShmPeers: the processes that one process exchanges frames with over shared memory.
//
// Solely responsible for the ways to them: which ring a frame goes into, taking frames out of all rings, calling peers,
// and letting go of those that are gone. What is a peer's doorbell is in peer_watch.h, rings in shm_ring.h, memory in
// shm_channel.h, connections in shm_control.h. Whom a process sends to and how it publishes differs between a process
// on a direct cable (shm_cable.h), one plugged into a fabric (shm_uplink.h) and the fabric process itself
// (fabric_process/shm_ports.h): each of these owns one of this. No lock and no pointer lies in shared memory, so that a
// process killed at any instruction leaves the others whole; its frames vanish as with a dead NIC.
//
// Under the engine's lock but for flush() and fork_guard().
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/host/link/fork_guard.h"
#include "emulator/host/link/frame_port.h"
#include "emulator/host/link/shm/deferred_work.h"
#include "emulator/host/link/shm/peer_watch.h"
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
  /// The way to a peer, which may have a channel or not; `tx` changes as peers come and go.
  struct Route {
    PeerName peer;
    std::shared_ptr<ShmChannel> tx;
    bool connecting = false;
    Time give_up_at{};
    Time retry_at{};
    std::uint32_t arrivals = 0;  // channels that the peer has made
  };
  /// By index, which stays; references do not.
  std::vector<Route>& routes() { return routes_; }
  /// Nothing: there are too many.
  std::optional<std::uint32_t> route_to(const PeerName& peer);
  std::optional<std::uint32_t> route_to(const nic::Destination& destination);
  /// All that may hold frames for us.
  const std::vector<std::shared_ptr<ShmChannel>>& channels() const { return channels_; }
  /// A channel of this process with itself. False: there is no memory.
  bool add_loopback();
  /// Has the peer called with the next flush().
  void call(Route& route);
  /// Takes in who has called, answered or gone.
  void apply_changes();
  /// Has the directory looked into for who is on the fabric, with the next flush(); then take_found() gives them, once.
  void look_around() { deferred_.add({DeferredWork::Item::Kind::look_around, {}, nullptr}); }
  bool take_found(std::vector<PeerName>& into);

  // -- Sending --
  /// Room on the way to a peer, which is called if there is no channel.
  std::span<std::byte> reserve(std::uint32_t route, std::size_t bytes);
  std::span<std::byte> reserve_in(ShmChannel& channel, std::size_t bytes);
  /// Room for a frame that goes nowhere and is counted.
  std::span<std::byte> vanish(std::uint64_t& counter, std::size_t bytes);
  /// What was reserved last.
  void commit(std::size_t bytes, wire::IcrcState icrc);
  void commit_in(ShmChannel& channel, std::size_t bytes, wire::IcrcState icrc);
  /// Calls `publish(channel)` for those with committed frames.
  template <class Publish>
  void publish(Publish&& publish) {
    for (ShmChannel* channel : dirty_) {
      channel->dirty = false;
      publish(*channel);
    }
    dirty_.clear();
  }

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
  static constexpr std::size_t kRoutesMax = 1 << 16;
  static constexpr Duration kRetryInterval = milliseconds(20);
  static constexpr Duration kConnectMax = seconds(1);

 private:
  struct PeerHash {
    std::size_t operator()(const PeerName& name) const;
  };

  ShmPeers(std::unique_ptr<ShmControl> control, std::string fabric, const Options& options);
  std::span<std::byte> reserve_without_channel(Route& route, std::size_t bytes);
  std::span<std::byte> reserve_in_full_ring(ShmChannel& channel, std::size_t bytes);
  void take_in(ShmControl::Change& change, std::uint32_t index);
  void drop_dead_channels();
  void leave_route(const ShmChannel& channel);
  void remove(std::size_t index);
  void find_all();
  void run(const DeferredWork::Item& item) override;
  void hold_for_fork() override;
  void release_after_fork() override;
  void abandon_after_fork() override;

  const std::string fabric_;
  const Options options_;
  std::unique_ptr<ShmControl> control_;
  const PeerName own_name_;
  OwnPage page_;
  ShmStatistics statistics_;
  DeferredWork deferred_;
  PeerWatch watch_;
  std::vector<Route> routes_;
  std::unordered_map<PeerName, std::uint32_t, PeerHash> route_of_;
  std::vector<std::shared_ptr<ShmChannel>> channels_;
  std::vector<ShmChannel*> dirty_;
  std::vector<ShmControl::Change> arriving_;
  std::size_t first_ = 0;          // whose turn it is in take_frames()
  ShmChannel* current_ = nullptr;  // reserved in; null: in scratch_
  std::uint64_t* vanish_counter_ = nullptr;
  SpinLock found_lock_;  // guards found_
  std::vector<PeerName> found_;
  std::atomic<bool> has_found_{false};
  alignas(64) std::array<std::byte, wire::kFrameBytesMax> scratch_;
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
