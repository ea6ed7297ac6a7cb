#include "emulator/host/link/shm/route_table.h"

namespace verbena::host {

std::size_t RouteTable::PeerHash::operator()(const PeerName& name) const {
  std::uint64_t hash = name.slot;
  for (const std::uint8_t octet : name.address.octets) hash = (hash ^ octet) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

std::optional<std::uint32_t> RouteTable::route_to(const PeerName& peer) {
  const auto next = static_cast<std::uint32_t>(routes_.size());
  if (next >= kRoutesMax) {
    const auto found = route_of_.find(peer);
    return found == route_of_.end() ? std::nullopt : std::optional(found->second);
  }
  const auto [place, is_new] = route_of_.try_emplace(peer, next);
  if (is_new) routes_.emplace_back().peer = peer;
  return place->second;
}

std::optional<std::uint32_t> RouteTable::route_without_hint(const nic::Destination& destination) {
  const auto index = route_to(PeerName{node_of(destination.address), slot_of(destination.qpn)});
  if (index) destination.route_hint = *index + 1;
  return index;
}

void RouteTable::clear() {
  routes_.clear();
  route_of_.clear();
}

}  // namespace verbena::host
