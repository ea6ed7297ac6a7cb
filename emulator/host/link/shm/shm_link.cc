#include "emulator/host/link/shm/shm_link.h"

#include <algorithm>
#include <utility>

#include "emulator/host/node/infiniband_port.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/neighbour.h"

namespace verbena::host {

Link::WaitDescriptors ShmLink::wait_descriptors() const {
  return {.frames = peers_->control().doorbell(), .control = peers_->control().wait_descriptor()};
}

bool ShmLink::arm() {
  return peers_->arm([](const ShmChannel&) { return SIZE_MAX; });
}

bool ShmLink::shares_core() {
  const std::uint32_t own = present_core();
  return std::ranges::any_of(peers_->channels(), [&](const auto& channel) {
    return channel->peer_core() == own && peers_->routes()[channel->route].peer != peers_->own_name();
  });
}

namespace {
/// Whether another process polls over this channel on that core, as far as it has told.
bool is_neighbour(const ShmChannel& channel, std::uint32_t core) {
  return channel.peer_core() == core && !channel.dead.load(std::memory_order_relaxed);
}
}  // namespace

PeerScheduling::Neighbour ShmLink::neighbour() {
  const std::uint32_t own = present_core();
  Neighbour found = Neighbour::nobody;
  for (const auto& channel : peers_->channels()) {
    if (!is_neighbour(*channel, own) || peers_->routes()[channel->route].peer == peers_->own_name()) continue;
    if (!channel->has_taken_all()) return Neighbour::has_our_frames;
    if (!channel->peer_sleeps())
      found = Neighbour::awake;
    else if (found == Neighbour::nobody && channel->peer_rests())
      found = Neighbour::rests;
  }
  return found;
}

void ShmLink::wake_neighbour() {
  const std::uint32_t own = present_core();
  const auto& channels = peers_->channels();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    ShmChannel& channel = *channels[next_neighbour_++ % channels.size()];
    if (!is_neighbour(channel, own) || !channel.peer_rests() ||
        peers_->routes()[channel.route].peer == peers_->own_name())
      continue;
    peers_->watch().ring(channel);
    return;
  }
}

bool ShmLink::begin_rest(RestSet& by) {
  own_rest().begin(by);
  if (arm()) return true;
  own_rest().finish();
  return false;
}

std::optional<wire::PathAddress> ShmLink::resolve(const wire::Gid& address) {
  if (is_infiniband_) {
    const wire::Lid lid = address.is_multicast() ? static_group_lid(address) : lid_of_port(fabric_, node_of(address));
    return lid == wire::kLidNone ? std::nullopt : std::optional(wire::PathAddress(lid, 0));
  }
  return address.is_multicast() ? multicast_mac(address) : node_mac(address);
}

OpenedLink opened_shm_link(std::unique_ptr<ShmLink> link, LinkParts parts, const EngineConfig& config) {
  OpenedLink opened;
  opened.parts = parts;
  opened.fetches = false;
  opened.slot = link->slot();
  opened.address = identity_of(config).path_address();
  opened.medium = opened.address.medium();
  opened.link = std::move(link);
  return opened;
}

}  // namespace verbena::host
