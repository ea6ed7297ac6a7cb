#include "emulator/host/link/shm/shm_peers.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/bell.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {

Result<std::unique_ptr<ShmPeers>, std::string> ShmPeers::open(const std::string& fabric, const wire::Gid& address,
                                                              const Options& options) {
  auto seat = NodeDirectory::join(fabric, address);
  if (!seat) return Failure{seat.error()};
  auto control = ShmControl::open({fabric, address, std::move(*seat)});
  if (!control) return Failure{control.error()};
  return std::unique_ptr<ShmPeers>(new ShmPeers(std::move(*control), fabric, options));
}

ShmPeers::ShmPeers(std::unique_ptr<ShmControl> control, std::string fabric, const Options& options)
    : fabric_(std::move(fabric)),
      options_(options),
      control_(std::move(control)),
      own_name_(control_->own_name()),
      page_(control_->page(), control_->wake()),
      watch_(deferred_, statistics_, options.watch) {
  routes_.reserve(kPeersExpected);
  channels_.reserve(kPeersExpected);
  dirty_.reserve(kPeersExpected);
}

ShmPeers::~ShmPeers() = default;

std::size_t ShmPeers::PeerHash::operator()(const PeerName& name) const {
  std::uint64_t hash = name.slot;
  for (const std::uint8_t octet : name.address.octets) hash = (hash ^ octet) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

// -- Ways -------------------------------------------------------------------------------------------------------------

std::optional<std::uint32_t> ShmPeers::route_to(const PeerName& peer) {
  const auto next = static_cast<std::uint32_t>(routes_.size());
  if (next >= kRoutesMax) {
    const auto found = route_of_.find(peer);
    return found == route_of_.end() ? std::nullopt : std::optional(found->second);
  }
  const auto [place, is_new] = route_of_.try_emplace(peer, next);
  if (is_new) routes_.emplace_back().peer = peer;
  return place->second;
}

std::optional<std::uint32_t> ShmPeers::route_to(const nic::Destination& destination) {
  const std::uint8_t slot = slot_of(destination.qpn);
  if (destination.route_hint != 0 && destination.route_hint <= routes_.size()) {
    const std::uint32_t index = destination.route_hint - 1;
    const PeerName& peer = routes_[index].peer;
    if (peer.slot == slot && peer.address == destination.address) return index;
  }
  const auto index = route_to(PeerName{node_of(destination.address), slot});
  if (index) destination.route_hint = *index + 1;
  return index;
}

bool ShmPeers::add_loopback() {
  auto loopback = control_->make_loopback();
  if (loopback == nullptr) return false;
  loopback->route = *route_to(own_name_);
  routes_[loopback->route].tx = loopback;
  channels_.push_back(std::move(loopback));
  return true;
}

void ShmPeers::call(Route& route) {
  route.connecting = true;
  route.give_up_at = clock_now() + kConnectMax;
  deferred_.add({DeferredWork::Item::Kind::connect, route.peer, nullptr});
}

void ShmPeers::apply_changes() {
  control_->take_changes(arriving_);
  for (ShmControl::Change& change : arriving_)
    if (const auto index = route_to(change.peer)) take_in(change, *index);  // else its frames are not taken
  arriving_.clear();
}

void ShmPeers::take_in(ShmControl::Change& change, std::uint32_t index) {
  using Kind = ShmControl::Change::Kind;
  Route& route = routes_[index];
  switch (change.kind) {
    case Kind::opened:
    case Kind::accepted:
      change.channel->route = index;
      change.channel->tx.set_depth(options_.depth_bytes);
      change.channel->tx.set_rewind_room(options_.rewind_room);
      route.connecting = false;
      ++route.arrivals;
      // One direction stays on one channel for as long as it lives, so that frames keep their order.
      if (route.tx == nullptr) route.tx = change.channel;
      channels_.push_back(std::move(change.channel));
      break;
    case Kind::refused:
      route.connecting = false;
      route.retry_at = clock_now() + kRetryInterval;
      break;
    case Kind::ended:
      change.channel->drain_limit = change.channel->rx.position() + kRingBytes;
      leave_route(*change.channel);
      deferred_.add({DeferredWork::Item::Kind::release, {}, std::move(change.channel)});
      break;
  }
}

void ShmPeers::leave_route(const ShmChannel& channel) {
  Route& route = routes_[channel.route];
  if (route.tx.get() != &channel) return;
  route.tx = nullptr;
  for (const auto& other : channels_)
    if (other->route == channel.route && !other->dead.load(std::memory_order_relaxed)) route.tx = other;
}

void ShmPeers::drop_dead_channels() {
  for (std::size_t i = channels_.size(); i-- > 0;) {
    ShmChannel& channel = *channels_[i];
    if (channel.rx.broken() && !channel.dead.exchange(true, std::memory_order_relaxed)) {
      ++statistics_.broken_channels;
      deferred_.add({DeferredWork::Item::Kind::hang_up, {}, channels_[i]});
    }
    if (!channel.dead.load(std::memory_order_relaxed)) continue;
    // What a peer left in the ring before it ended still counts: it may be its last acknowledgement.
    if (!channel.rx.waiting() || (channel.drain_limit != 0 && channel.rx.position() >= channel.drain_limit)) remove(i);
  }
}

void ShmPeers::remove(std::size_t index) {
  std::shared_ptr<ShmChannel> channel = std::move(channels_[index]);
  channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(index));
  std::erase(dirty_, channel.get());
  watch_.remove(*channel);
  if (current_ == channel.get()) current_ = nullptr;
  leave_route(*channel);
  deferred_.add({DeferredWork::Item::Kind::release, {}, std::move(channel)});
}

void ShmPeers::find_all() {
  std::vector<PeerName> found;
  for (const SeatTaken& seat : seats_taken(fabric_))
    if (PeerName{seat.address, seat.slot} != own_name_) found.push_back({seat.address, seat.slot});
  const std::lock_guard guard(found_lock_);
  found_ = std::move(found);
  has_found_.store(true, std::memory_order_release);
}

bool ShmPeers::take_found(std::vector<PeerName>& into) {
  if (!has_found_.exchange(false, std::memory_order_acquire)) return false;
  const std::lock_guard guard(found_lock_);
  into.swap(found_);
  return true;
}

// -- Sending ----------------------------------------------------------------------------------------------------------

std::span<std::byte> ShmPeers::reserve(std::uint32_t route, std::size_t bytes) {
  if (routes_[route].tx == nullptr && control_->has_changes()) apply_changes();
  Route& way = routes_[route];
  return way.tx == nullptr ? reserve_without_channel(way, bytes) : reserve_in(*way.tx, bytes);
}

std::span<std::byte> ShmPeers::reserve_in(ShmChannel& channel, std::size_t bytes) {
  const std::span<std::byte> room = channel.tx.reserve(bytes);
  if (room.empty()) return reserve_in_full_ring(channel, bytes);
  current_ = &channel;
  return room;
}

std::span<std::byte> ShmPeers::vanish(std::uint64_t& counter, std::size_t bytes) {
  VERBENA_ASSERT(bytes <= scratch_.size());
  current_ = nullptr;
  vanish_counter_ = &counter;
  return {scratch_.data(), bytes};
}

std::span<std::byte> ShmPeers::reserve_without_channel(Route& route, std::size_t bytes) {
  const Time now = clock_now();
  if (route.connecting) {
    if (now < route.give_up_at) return {};
    return vanish(statistics_.vanished_unreachable, bytes);
  }
  if (now < route.retry_at || route.peer.slot >= kSlots) return vanish(statistics_.vanished_unreachable, bytes);
  call(route);
  return {};
}

std::span<std::byte> ShmPeers::reserve_in_full_ring(ShmChannel& channel, std::size_t bytes) {
  // A paused wire is paused for some time only: behind a process that is stopped, other destinations must not starve.
  if (!channel.stands_still(options_.stall_max)) return {};
  return vanish(statistics_.vanished_stalled, bytes);
}

void ShmPeers::commit(std::size_t bytes, wire::IcrcState icrc) {
  if (current_ == nullptr) {
    VERBENA_ASSERT(vanish_counter_ != nullptr);
    ++*vanish_counter_;
    return;
  }
  commit_in(*current_, bytes, icrc);
}

void ShmPeers::commit_in(ShmChannel& channel, std::size_t bytes, wire::IcrcState icrc) {
  // Before this frame, so that one is left for publish(), which fences and looks whether the peer sleeps.
  if (channel.tx.unpublished_bytes() >= options_.publish_bytes) channel.tx.publish(false);
  channel.tx.commit(bytes, icrc);
  if (channel.dirty) return;
  channel.dirty = true;
  dirty_.push_back(&channel);
}

// -- Outside of the lock ----------------------------------------------------------------------------------------------

bool ShmPeers::flush() {
  watch_.yield_to_peers();
  if (deferred_.is_idle()) return false;
  const CancellationShield shield;
  return deferred_.run_all(*this);
}

void ShmPeers::run(const DeferredWork::Item& item) {
  using Kind = DeferredWork::Item::Kind;
  switch (item.kind) {
    case Kind::ring:
      if (const int doorbell = item.channel->doorbell.load(std::memory_order_acquire); doorbell >= 0)
        Bell::ring(doorbell);
      break;
    case Kind::connect:
      control_->connect(item.peer);
      break;
    case Kind::look_around:
      find_all();
      break;
    case Kind::hang_up:
      control_->hang_up(*item.channel);
      break;
    case Kind::release:
      break;  // the destructor unmaps
  }
}

void ShmPeers::hold_for_fork() {
  control_->hold();
  deferred_.hold();
  found_lock_.lock();
}

void ShmPeers::release_after_fork() {
  found_lock_.unlock();
  deferred_.release();
  control_->release();
}

void ShmPeers::abandon_after_fork() {
  deferred_.abandon();
  dirty_.clear();
  watch_.clear();
  channels_.clear();
  routes_.clear();
  route_of_.clear();
  arriving_.clear();
  control_.reset();
}

bool is_draining(const ShmPeers& peers, std::uint32_t route) {
  return std::ranges::any_of(peers.channels(), [route](const auto& channel) {
    return channel->route == route && channel->dead.load(std::memory_order_relaxed);
  });
}

bool has_waiting_frames(const ShmPeers& peers) {
  return std::ranges::any_of(peers.channels(), [](const auto& channel) { return channel->rx.waiting(); });
}

}  // namespace verbena::host
