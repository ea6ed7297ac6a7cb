#include "emulator/host/link/shm/shm_peers.h"

#include <algorithm>
#include <utility>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/bell.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {

Result<std::unique_ptr<ShmPeers>, std::string> ShmPeers::open(const std::string& fabric, const wire::Gid& address,
                                                              const Options& options) {
  auto seat = NodeDirectory::join(fabric, address, options.slots);
  if (!seat) return Failure{seat.error()};
  auto control = ShmControl::open({fabric, address, std::move(*seat)});
  if (!control) return Failure{control.error()};
  return std::unique_ptr<ShmPeers>(new ShmPeers(std::move(*control), fabric, options));
}

ShmPeers::ShmPeers(std::unique_ptr<ShmControl> control, std::string fabric, const Options& options)
    : options_(options),
      control_(std::move(control)),
      own_name_(control_->own_name()),
      page_(control_->page(), control_->wake()),
      outgoing_(statistics_, options.publish_bytes, options.stall_max),
      watch_(deferred_, statistics_, options.watch),
      search_(deferred_, std::move(fabric), own_name_) {
  channels_.reserve(kPeersExpected);
}

ShmPeers::~ShmPeers() = default;

// -- Ways -------------------------------------------------------------------------------------------------------------

bool ShmPeers::add_loopback() {
  auto loopback = control_->make_loopback();
  if (loopback == nullptr) return false;
  loopback->route = *routes_.route_to(own_name_);
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
    if (const auto index = routes_.route_to(change.peer)) take_in(change, *index);  // else its frames are not taken
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
  outgoing_.forget(*channel);
  watch_.remove(*channel);
  leave_route(*channel);
  deferred_.add({DeferredWork::Item::Kind::release, {}, std::move(channel)});
}

// -- Sending ----------------------------------------------------------------------------------------------------------

std::span<std::byte> ShmPeers::reserve(std::uint32_t route, std::size_t bytes) {
  if (routes_[route].tx == nullptr && control_->has_changes()) apply_changes();
  Route& way = routes_[route];
  return way.tx == nullptr ? reserve_without_channel(way, bytes) : outgoing_.reserve_in(*way.tx, bytes);
}

std::span<std::byte> ShmPeers::reserve_without_channel(Route& route, std::size_t bytes) {
  const Time now = clock_now();
  if (route.connecting) {
    if (now < route.give_up_at) return {};
    return outgoing_.vanish(statistics_.vanished_unreachable, bytes);
  }
  if (now < route.retry_at || route.peer.slot >= kSlots)
    return outgoing_.vanish(statistics_.vanished_unreachable, bytes);
  call(route);
  return {};
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
      // An application that rests looks itself: its thread, which waits for the bell, need not.
      if (const ProcessPages pages = item.channel->peer_pages(); pages.told != nullptr && rest_of(pages).end()) break;
      if (const int doorbell = item.channel->doorbell.load(std::memory_order_acquire); doorbell >= 0)
        Bell::ring(doorbell);
      break;
    case Kind::connect:
      control_->connect(item.peer);
      break;
    case Kind::look_around:
      search_.find_all();
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
  search_.hold();
}

void ShmPeers::release_after_fork() {
  search_.release();
  deferred_.release();
  control_->release();
}

void ShmPeers::abandon_after_fork() {
  deferred_.abandon();
  outgoing_.forget_all();
  watch_.clear();
  channels_.clear();
  routes_.clear();
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
