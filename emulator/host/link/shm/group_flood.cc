#include "emulator/host/link/shm/group_flood.h"

#include <algorithm>
#include <cstring>

#include "emulator/host/os/clock.h"

namespace verbena::host {

std::span<std::byte> GroupFlood::reserve(std::size_t bytes) {
  const Time now = clock_now();
  if (looked_around_at_ == Time{} || now - looked_around_at_ > kLookAroundInterval) {
    looked_around_at_ = now;
    peers_.search().look_around();
  }
  if (peers_.control().has_changes()) peers_.apply_changes();
  if (!all_are_met()) return {};
  VERBENA_ASSERT(bytes <= frame_.size());
  return std::span(frame_).first(bytes);
}

/// Calls those that the last look found. False: the first look, or a call that it gave rise to, is still under way.
bool GroupFlood::all_are_met() {
  const bool has_found = peers_.search().take_found(found_);
  const Time now = clock_now();
  if (has_found) {
    for (const PeerName& peer : found_) {
      const auto index = peers_.routes().route_to(peer);
      if (!index) break;
      ShmPeers::Route& route = peers_.routes()[*index];
      if (route.tx == nullptr && !route.connecting && now >= route.retry_at) peers_.call(route);
    }
  }
  if (has_met_all_) return true;
  if (!has_found && !has_looked_) return false;
  has_looked_ = true;
  has_met_all_ = std::ranges::none_of(peers_.routes(), [now](const ShmPeers::Route& route) {
    return route.tx == nullptr && route.connecting && now < route.give_up_at;
  });
  return has_met_all_;
}

void GroupFlood::commit(std::size_t bytes, wire::IcrcState icrc) {
  bool reached_anybody = false;
  for (const ShmPeers::Route& route : peers_.routes()) {
    if (route.tx == nullptr || route.peer == peers_.own_name()) continue;
    const std::span<std::byte> room = route.tx->tx.reserve(bytes);
    if (room.empty()) continue;  // it does not keep up: lost, as in a switch
    std::memcpy(room.data(), frame_.data(), bytes);
    peers_.outgoing().commit_in(*route.tx, bytes, icrc);
    reached_anybody = true;
  }
  if (!reached_anybody) ++peers_.statistics().vanished_multicast;
}

}  // namespace verbena::host
