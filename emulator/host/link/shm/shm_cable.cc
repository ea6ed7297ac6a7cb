#include "emulator/host/link/shm/shm_cable.h"

#include <utility>

#include "emulator/host/os/shortage.h"

namespace verbena::host {

Result<std::unique_ptr<ShmCable>, std::string> ShmCable::open(const EngineConfig& config) {
  auto peers = ShmPeers::open(config.fabric, config.address, {.slots = config.slots});
  if (!peers) return Failure{peers.error()};
  if (!(*peers)->add_loopback()) return Failure{"cannot make shared memory for the loopback" + memory_limit_text()};
  return std::unique_ptr<ShmCable>(new ShmCable(std::move(*peers), config));
}

std::span<std::byte> ShmCable::reserve(const nic::Destination& destination, std::size_t bytes) {
  floods_ = destination.qpn == wire::kMulticastQpn || destination.address.is_multicast();
  if (floods_) {
    const std::span<std::byte> room = flood_.reserve(bytes);
    floods_ = !room.empty();
    return room;
  }
  const auto route = peers().routes().route_to(destination);
  if (!route) return peers().outgoing().vanish(peers().statistics().vanished_unreachable, bytes);
  return peers().reserve(*route, bytes);
}

void ShmCable::commit(std::size_t bytes, wire::IcrcState icrc) {
  if (std::exchange(floods_, false)) return flood_.commit(bytes, icrc);
  peers().outgoing().commit(bytes, icrc);
}

void ShmCable::publish() {
  peers().outgoing().publish([this](ShmChannel& channel) {
    // A fence only where the peer may just be falling asleep over a ring that it takes to be empty.
    channel.tx.publish(!channel.waker.is_watched() || channel.peer_sleeps_per_message());
    const bool is_rung = PeerWatch::is_asleep_over(channel) && peers().watch().wake(channel);
    peers().watch().published(channel, is_rung);
  });
}

std::size_t ShmCable::receive(Time now, FrameSink& sink, std::size_t budget) {
  const std::size_t count = peers().take_frames(sink, budget, [](const ShmChannel&) { return SIZE_MAX; });
  peers().watch().look(now);
  return count;
}

void ShmCable::look() {
  for (const auto& channel : peers().channels()) channel->answers.look(channel->peer_answered_by());
}

/// Of a peer that has gone, or none that can be reached, nothing is to be waited for. What the process has sent to
/// itself it has taken by now.
bool ShmCable::has_answered(const nic::Destination& peer, Time since, Time now) {
  const auto index = peers().routes().route_to(peer);
  if (!index) return true;
  const ShmPeers::Route& route = peers().routes()[*index];
  if (route.tx == nullptr || route.tx->dead.load(std::memory_order_relaxed) || route.peer == peers().own_name())
    return true;
  return route.tx->answers.has_answered(since, now);
}

std::optional<Time> ShmCable::next_deadline() const {
  return peers().watch().next_deadline();
}

Result<OpenedLink, std::string> open_shm_link(const EngineConfig& config) {
  auto link = ShmCable::open(config);
  if (!link) return Failure{link.error()};
  LinkParts parts = (*link)->parts();
  parts.answers = link->get();
  return opened_shm_link(std::move(*link), parts, config);
}

}  // namespace verbena::host
