#include "emulator/host/link/shm/shm_link.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "emulator/host/node/port_signal.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/name_holder.h"
#include "emulator/host/os/shortage.h"

namespace verbena::host {
namespace {
constexpr std::size_t kDeferredAtOnce = 16;
constexpr std::size_t kExpectedPeers = 64;  // room made beforehand; more is only slower once
const PeerName kFabricPort{kFabricSeat, 0};
}  // namespace

namespace {
Result<OpenedLink, std::string> open_in_role(const EngineConfig& config, ShmRole role) {
  auto link = ShmLink::open(config, role);
  if (!link) return Failure{link.error()};
  OpenedLink opened;
  opened.slot = (*link)->slot();
  opened.mac = node_mac(config.address);
  ShmLink* const made = link->get();
  opened.parts = {.scheduling = made, .lender = role == ShmRole::uplink ? made : nullptr, .fork_guard = made};
  opened.fetches = false;
  opened.link = std::move(*link);
  return opened;
}
}  // namespace

Result<OpenedLink, std::string> open_shm_link(const EngineConfig& config) {
  return open_in_role(config, ShmRole::direct);
}

Result<OpenedLink, std::string> open_fabric_link(const EngineConfig& config) {
  return open_in_role(config, ShmRole::uplink);
}

Result<std::unique_ptr<ShmLink>, std::string> ShmLink::open(const EngineConfig& config, ShmRole role) {
  const wire::Gid address = role == ShmRole::port ? kFabricSeat : config.address;
  auto seat = NodeDirectory::join(config.fabric, address);
  if (!seat) return Failure{seat.error()};
  auto control = ShmControl::open({config.fabric, address, std::move(*seat)});
  if (!control) return Failure{control.error()};
  std::unique_ptr<ShmLink> link(new ShmLink(std::move(*control), role));
  link->fabric_ = config.fabric;
  if (std::string error = link->take_role(config.fabric); !error.empty()) return Failure{std::move(error)};
  return link;
}

/// The channels that are there from the start. Empty: done.
std::string ShmLink::take_role(const std::string& fabric) {
  switch (role_) {
    case ShmRole::direct: {
      auto loopback = control_->make_loopback();
      if (loopback == nullptr) return "cannot make shared memory for the loopback" + memory_limit_text();
      const std::uint32_t own = route_index(control_->own_name());
      loopback->route = own;
      routes_[own].tx = loopback;
      channels_.push_back(std::move(loopback));
      return {};
    }
    case ShmRole::uplink: {
      // At once, not with the first frame: the fabric process has to know where frames for this process go.
      const std::uint32_t port = route_index(kFabricPort);
      control_->connect(kFabricPort);
      apply_changes();
      return routes_[port].tx == nullptr ? "no fabric process serves fabric '" + fabric + "'" : std::string();
    }
    case ShmRole::port: {
      if (slot() == 0) return {};
      return "fabric '" + fabric + "' is served by another process already" +
             describe_name_holder(seat_address({fabric, kFabricSeat, 0}));
    }
  }
  return {};
}

ShmLink::ShmLink(std::unique_ptr<ShmControl> control, ShmRole role)
    : control_(std::move(control)),
      role_(role),
      publish_bytes_(role == ShmRole::port ? kPublishBytesOfPort : kPublishBytes) {
  routes_.reserve(kExpectedPeers);
  channels_.reserve(kExpectedPeers);
  dirty_.reserve(kExpectedPeers);
  unconfirmed_.reserve(kExpectedPeers);
  held_doorbells_.reserve(kExpectedPeers);
  deferred_.reserve(kExpectedPeers);
}

ShmLink::~ShmLink() = default;

std::size_t ShmLink::PeerHash::operator()(const PeerName& name) const {
  std::uint64_t hash = name.slot;
  for (const std::uint8_t octet : name.address.octets) hash = (hash ^ octet) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

// -- Sending ------------------------------------------------------------

std::uint32_t ShmLink::route_index(const PeerName& peer) {
  const auto [place, is_new] = route_of_.try_emplace(peer, static_cast<std::uint32_t>(routes_.size()));
  if (is_new) {
    Route route;
    route.peer = peer;
    routes_.push_back(std::move(route));
  }
  return place->second;
}

ShmLink::Route* ShmLink::route_to(const nic::Destination& destination) {
  if (role_ == ShmRole::uplink) return &routes_.front();  // the fabric port's, made first
  const std::uint8_t slot = slot_of(destination.qpn);
  if (destination.route_hint != 0 && destination.route_hint <= routes_.size()) {
    Route& route = routes_[destination.route_hint - 1];
    if (route.peer.slot == slot && route.peer.address == destination.address) return &route;
  }
  const PeerName peer{node_of(destination.address), slot};
  if (routes_.size() >= kRoutesMax && !route_of_.contains(peer)) return nullptr;
  const std::uint32_t index = route_index(peer);
  destination.route_hint = index + 1;
  return &routes_[index];
}

std::span<std::byte> ShmLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  // Direct cables flood; behind a fabric its switches know where to.
  const bool is_group = destination.qpn == wire::kMulticastQpn || destination.address.is_multicast();
  if (is_group && role_ == ShmRole::direct) return reserve_for_all(bytes);
  if (is_group && role_ == ShmRole::port) return vanish(statistics_.vanished_multicast, bytes);
  Route* route = route_to(destination);
  if (route == nullptr) return vanish(statistics_.vanished_unreachable, bytes);
  if (route->tx == nullptr && control_->has_changes()) {
    apply_changes();
    route = route_to(destination);  // routes may have moved
    if (route == nullptr) return vanish(statistics_.vanished_unreachable, bytes);
  }
  if (route->tx == nullptr) return reserve_without_channel(*route, bytes);
  return reserve_in(*route->tx, bytes);
}

std::span<std::byte> ShmLink::reserve_in(ShmChannel& channel, std::size_t bytes) {
  const std::span<std::byte> room = channel.tx.reserve(bytes);
  if (room.empty()) return reserve_in_full_ring(channel, bytes);
  current_ = &channel;
  return room;
}

std::optional<std::span<std::byte>> ShmLink::reserve_if_there(const nic::Destination& destination, std::size_t bytes) {
  const Route* route = route_to(destination);
  if (route == nullptr || route->tx == nullptr) return std::nullopt;
  return reserve_in(*route->tx, bytes);
}

std::span<std::byte> ShmLink::vanish(std::uint64_t& counter, std::size_t bytes) {
  VERBENA_ASSERT(bytes <= scratch_.size());
  current_ = nullptr;
  vanish_counter_ = &counter;
  return {scratch_.data(), bytes};
}

std::span<std::byte> ShmLink::reserve_without_channel(Route& route, std::size_t bytes) {
  if (role_ == ShmRole::port) return vanish(statistics_.vanished_unreachable, bytes);
  const Time now = clock_now();
  if (route.connecting) {
    if (now < route.give_up_at) return {};
    return vanish(statistics_.vanished_unreachable, bytes);
  }
  if (now < route.retry_at || route.peer.slot >= kSlots) return vanish(statistics_.vanished_unreachable, bytes);
  route.connecting = true;
  route.give_up_at = now + kConnectMax;
  defer({DeferredWork::Kind::connect, route.peer, nullptr});
  return {};
}

std::span<std::byte> ShmLink::reserve_in_full_ring(ShmChannel& channel, std::size_t bytes) {
  // A paused wire is paused for some time only: behind a process that is stopped, other destinations must not starve.
  // The clock itself, not last_now_: that may be from long before this burst of posts.
  const Time now = clock_now();
  const std::uint64_t tail = channel.tx.read_tail();
  if (channel.full_since == Time{} || tail != channel.full_tail) {
    channel.full_since = now;
    channel.full_tail = tail;
  }
  if (now - channel.full_since < kStallMax) return {};
  return vanish(statistics_.vanished_stalled, bytes);
}

void ShmLink::commit(std::size_t bytes) {
  if (std::exchange(for_all_, false)) return commit_to_all(bytes);
  if (current_ == nullptr) {
    VERBENA_ASSERT(vanish_counter_ != nullptr);
    ++*vanish_counter_;
    return;
  }
  commit_in(*current_, bytes);
}

void ShmLink::commit_in(ShmChannel& channel, std::size_t bytes) {
  // Before this frame, so that one is left for publish(), which fences and looks whether the peer sleeps.
  if (channel.tx.unpublished_bytes() >= publish_bytes_) channel.tx.publish(false);
  channel.tx.commit(bytes);
  if (channel.dirty) return;
  channel.dirty = true;
  dirty_.push_back(&channel);
}

void ShmLink::cancel() {
  for_all_ = false;
}

void ShmLink::publish() {
  for (ShmChannel* channel : dirty_) publish_channel(*channel);
  dirty_.clear();
}

void ShmLink::publish_channel(ShmChannel& channel) {
  channel.dirty = false;
  channel.rung = false;
  if (role_ == ShmRole::uplink) {
    publish_to_port(channel);
  } else {
    // Through a fabric process every hand-over may put one of the two to sleep, so that looking later would be looking
    // always, and each time a timer to be set: a fence is cheaper than either.
    channel.tx.publish(role_ == ShmRole::port || !channel.unconfirmed || sleeps_per_message(channel));
    wake_if_asleep(channel);
  }
  if (!channel.unconfirmed) {
    channel.unconfirmed = true;
    channel.recheck_at = Time{};
    channel.backoff = channel.rung;
    if (channel.patience == Duration{} || channel.rung)
      channel.patience = channel.rung && !rests_behind_us(channel) ? kBackoffMin : kPatienceMin;
    unconfirmed_.push_back(&channel);
  }
}

/// What a cable publishes lies before the peer. An uplink's frames leave as the fabric process takes them.
std::uint64_t ShmLink::published() {
  published_in_ = role_ == ShmRole::uplink ? routes_.front().tx.get() : nullptr;
  return published_in_ != nullptr ? published_in_->tx.position() : 0;
}

bool ShmLink::has_sent(std::uint64_t published) {
  const auto& port = routes_.front().tx;
  if (published_in_ == nullptr || port.get() != published_in_) return true;
  return port->tx.read_tail() >= published;
}

bool ShmLink::has_taken_all(ShmChannel& channel) {
  channel.tx.read_tail();
  return channel.tx.drained();
}

void ShmLink::ring(ShmChannel& channel) {
  const auto& shared = routes_[channel.route].tx;
  if (shared.get() == &channel) defer({DeferredWork::Kind::ring, {}, shared});
}

// -- Receiving ------------------------------------------------------------

std::size_t ShmLink::receive(Time now, FrameSink& sink, std::size_t budget) {
  const std::size_t count = take_frames(now, sink, budget, [](const ShmChannel&) { return SIZE_MAX; });
  if (has_left_frames_ && count == 0) look_after_left_frames(now);
  return count;
}

std::size_t ShmLink::receive_in_turn(Time now, PeerSink& sink, std::size_t budget) {
  return take_frames(now, sink, budget, [&](const ShmChannel& channel) {
    return channel.rx.empty() ? 0 : sink.turn(routes_[channel.route].peer);
  });
}

/// `turn` says how many octets may come out of a channel, up to the end of a frame.
template <class Turn>
std::size_t ShmLink::take_frames(Time now, FrameSink& sink, std::size_t budget, Turn&& turn) {
  last_now_ = now;
  if (control_->has_changes()) apply_changes();
  tell_core();
  std::size_t count = 0;
  const std::size_t channels = channels_.size();
  if (++first_ >= channels) first_ = 0;
  bool ended = false;
  for (std::size_t i = 0; i < channels && count < budget; ++i) {
    ShmChannel& channel = *channels_[first_ + i < channels ? first_ + i : first_ + i - channels];
    const std::size_t admitted = turn(channel);
    std::size_t octets = 0;
    const auto deliver = [&](std::span<const std::byte> frame) {
      sink.frame(frame, false);
      octets += frame.size();
      return octets < admitted;
    };
    if (admitted != 0) count += channel.rx.read(budget - count, deliver);
    ended = ended || channel.dead.load(std::memory_order_relaxed) || channel.rx.broken();
  }
  if (ended) drop_dead_channels();
  if (!unconfirmed_.empty()) recheck(now);
  return count;
}

void ShmLink::drop_dead_channels() {
  for (std::size_t i = channels_.size(); i-- > 0;) {
    ShmChannel& channel = *channels_[i];
    if (channel.rx.broken() && !channel.dead.exchange(true, std::memory_order_relaxed)) {
      ++statistics_.broken_channels;
      defer({DeferredWork::Kind::hang_up, {}, channels_[i]});
    }
    if (!channel.dead.load(std::memory_order_relaxed)) continue;
    // What a peer left in the ring before it ended still counts: it may be its last acknowledgement.
    if (!channel.rx.waiting() || (channel.drain_limit != 0 && channel.rx.position() >= channel.drain_limit)) remove(i);
  }
}

void ShmLink::apply_changes() {
  control_->take_changes(arriving_);
  for (ShmControl::Change& change : arriving_) {
    using Kind = ShmControl::Change::Kind;
    if (routes_.size() >= kRoutesMax && !route_of_.contains(change.peer)) continue;  // its frames are not taken
    const std::uint32_t index = route_index(change.peer);
    Route& route = routes_[index];
    switch (change.kind) {
      case Kind::opened:
      case Kind::accepted:
        change.channel->route = index;
        if (role_ == ShmRole::uplink) change.channel->tx.set_depth(kUplinkBytes);
        if (change.kind == Kind::opened) route.connecting = false;
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
        defer({DeferredWork::Kind::release, {}, std::move(change.channel)});
        break;
    }
  }
  arriving_.clear();
}

void ShmLink::leave_route(const ShmChannel& channel) {
  Route& route = routes_[channel.route];
  if (route.tx.get() != &channel) return;
  route.tx = nullptr;
  for (const auto& other : channels_)
    if (other->route == channel.route && !other->dead.load(std::memory_order_relaxed)) route.tx = other;
}

void ShmLink::remove(std::size_t index) {
  std::shared_ptr<ShmChannel> channel = std::move(channels_[index]);
  channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(index));
  std::erase(dirty_, channel.get());
  std::erase(unconfirmed_, channel.get());
  std::erase(held_doorbells_, channel.get());
  if (current_ == channel.get()) current_ = nullptr;
  leave_route(*channel);
  defer({DeferredWork::Kind::release, {}, std::move(channel)});
}

/// A direct cable is never pulled.
bool ShmLink::has_signal() {
  if (role_ != ShmRole::uplink) return true;
  return control_->is_connected_to(kFabricPort) &&
         !dead_port_name(fabric_.c_str(), control_->own_name().address.octets).is_held();
}

void ShmLink::take_calls() {
  control_->service();
  apply_changes();
}

void ShmLink::list_peers(std::vector<PeerName>& into) const {
  into.clear();
  for (const Route& route : routes_)
    if (route.tx != nullptr) into.push_back(route.peer);
}

// -- Outside the lock ------------------------------------------------------------

void ShmLink::defer(DeferredWork work) {
  if (work.makes_ways()) calls_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard guard(deferred_lock_);
  deferred_.push_back(std::move(work));
  has_deferred_.store(true, std::memory_order_release);
}

bool ShmLink::flush() {
  if (yields_.load(std::memory_order_relaxed) && yields_.exchange(false)) sched_yield();
  if (!has_deferred_.load(std::memory_order_acquire) && calls_.load(std::memory_order_acquire) == 0) return false;
  const CancellationShield shield;
  bool makes_ways = false;
  while (has_deferred_.load(std::memory_order_acquire)) {
    std::array<DeferredWork, kDeferredAtOnce> batch;
    std::size_t count = 0;
    {
      const std::lock_guard guard(deferred_lock_);
      count = std::min(deferred_.size(), batch.size());
      const auto end = deferred_.begin() + static_cast<std::ptrdiff_t>(count);
      std::move(deferred_.begin(), end, batch.begin());
      deferred_.erase(deferred_.begin(), end);
      has_deferred_.store(!deferred_.empty(), std::memory_order_release);
    }
    for (std::size_t i = 0; i < count; ++i) {
      run_deferred(batch[i]);
      makes_ways = makes_ways || batch[i].makes_ways();
    }
  }
  // What another thread is about may be what the caller's frames wait for.
  for (; calls_.load(std::memory_order_acquire) != 0; sched_yield()) makes_ways = true;
  return makes_ways;
}

void ShmLink::run_deferred(const DeferredWork& work) {
  switch (work.kind) {
    case DeferredWork::Kind::ring:
      if (const int doorbell = work.channel->doorbell.load(std::memory_order_acquire); doorbell >= 0)
        ShmControl::ring(doorbell);
      break;
    case DeferredWork::Kind::connect:
      control_->connect(work.peer);
      break;
    case DeferredWork::Kind::look_around:
      look_around();
      break;
    case DeferredWork::Kind::hang_up:
      control_->hang_up(*work.channel);
      break;
    case DeferredWork::Kind::release:
      break;  // the destructor unmaps
  }
  if (work.makes_ways()) calls_.fetch_sub(1, std::memory_order_release);
}

void ShmLink::hold_for_fork() {
  control_->hold();
  deferred_lock_.lock();
}

void ShmLink::release_after_fork() {
  deferred_lock_.unlock();
  control_->release();
}

void ShmLink::abandon_after_fork() {
  calls_.store(0, std::memory_order_relaxed);
  dirty_.clear();
  unconfirmed_.clear();
  channels_.clear();
  routes_.clear();
  route_of_.clear();
  deferred_.clear();
  arriving_.clear();
  control_.reset();
}

std::optional<wire::MacAddress> ShmLink::resolve(const wire::Gid& address) {
  const auto& octets = address.octets;
  if (!address.is_multicast()) return node_mac(address);
  if (address.is_ipv4())  // RFC 1112, 6.4
    return wire::MacAddress{{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(octets[13] & 0x7f), octets[14], octets[15]}};
  return wire::MacAddress{{0x33, 0x33, octets[12], octets[13], octets[14], octets[15]}};  // RFC 2464, 7
}

}  // namespace verbena::host
