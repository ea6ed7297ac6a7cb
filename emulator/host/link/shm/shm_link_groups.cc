// ShmLink's group frames on direct cables: every process of the fabric gets a copy, as from a switch that floods.
//
// Who is there stands in the node directory, which is looked at again while group frames leave (look_around, outside
// the lock). The first such frame waits for the look and for the calls that follow from it; later ones do not.
#include <algorithm>
#include <cstring>

#include "emulator/host/link/shm/shm_link.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {

std::span<std::byte> ShmLink::reserve_for_all(std::size_t bytes) {
  const Time now = clock_now();
  if (looked_around_at_ == Time{} || now - looked_around_at_ > kLookAroundInterval) {
    looked_around_at_ = now;
    defer({DeferredWork::Kind::look_around, {}, nullptr});
  }
  if (control_->has_changes()) apply_changes();
  if (!all_are_met()) return {};
  VERBENA_ASSERT(bytes <= scratch_.size());
  for_all_ = true;
  return std::span(scratch_).first(bytes);
}

/// Calls those that the last look found. False: the first look, or a call that it gave rise to, is still under way.
bool ShmLink::all_are_met() {
  std::vector<PeerName> found;
  const bool has_found = has_found_.exchange(false, std::memory_order_acquire);
  if (has_found) {
    const std::lock_guard guard(deferred_lock_);
    found.swap(found_);
  }
  const Time now = clock_now();
  for (const PeerName& peer : found) {
    if (routes_.size() >= kRoutesMax && !route_of_.contains(peer)) break;
    Route& route = routes_[route_index(peer)];
    if (route.tx != nullptr || route.connecting || now < route.retry_at) continue;
    route.connecting = true;
    route.give_up_at = now + kConnectMax;
    defer({DeferredWork::Kind::connect, peer, nullptr});
  }
  if (has_met_all_) return true;
  if (!has_found && !has_looked_) return false;
  has_looked_ = true;
  has_met_all_ = std::ranges::none_of(
      routes_, [now](const Route& route) { return route.tx == nullptr && route.connecting && now < route.give_up_at; });
  return has_met_all_;
}

void ShmLink::commit_to_all(std::size_t bytes) {
  const PeerName own = control_->own_name();
  bool reached_anybody = false;
  for (Route& route : routes_) {
    if (route.tx == nullptr || route.peer == own) continue;
    const std::span<std::byte> room = route.tx->tx.reserve(bytes);
    if (room.empty()) continue;  // it does not keep up: lost, as in a switch
    std::memcpy(room.data(), scratch_.data(), bytes);
    commit_in(*route.tx, bytes);
    reached_anybody = true;
  }
  if (!reached_anybody) ++statistics_.vanished_multicast;
}

void ShmLink::look_around() {
  const PeerName own = control_->own_name();
  std::vector<PeerName> found;
  for (const SeatTaken& seat : seats_taken(fabric_))
    if (PeerName{seat.address, seat.slot} != own) found.push_back({seat.address, seat.slot});
  const std::lock_guard guard(deferred_lock_);
  found_ = std::move(found);
  has_found_.store(true, std::memory_order_release);
}

}  // namespace verbena::host
