#include "emulator/host/fabric_process/shm_ports.h"

#include <algorithm>
#include <utility>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/name_holder.h"

namespace verbena::host {

Result<std::unique_ptr<ShmPorts>, std::string> ShmPorts::open(const std::string& fabric) {
  auto peers =
      ShmPeers::open(fabric, kFabricSeat,
                     {.publish_bytes = kPublishBytes, .rewind_room = kRewindRoom, .watch = {.trusts_the_rung = true}});
  if (!peers) return Failure{peers.error()};
  if ((*peers)->own_name() != kFabricPort)
    return Failure{"fabric '" + fabric + "' is served by another process already" +
                   describe_name_holder(seat_address({fabric, kFabricPort.address, kFabricPort.slot}))};
  return std::unique_ptr<ShmPorts>(new ShmPorts(std::move(*peers)));
}

ShmPorts::ShmPorts(std::unique_ptr<ShmPeers> peers) : peers_(std::move(peers)) {
  held_.reserve(kPeersExpected);
}

// -- Frames -----------------------------------------------------------------------------------------------------------

std::optional<std::span<std::byte>> ShmPorts::reserve(const nic::Destination& destination, std::size_t bytes) {
  const auto route = peers_->routes().route_to(destination);
  if (!route) return std::nullopt;
  ShmChannel* const channel = peers_->routes()[*route].tx.get();
  if (channel == nullptr) return std::nullopt;
  reserved_in_ = channel;
  return peers_->outgoing().reserve_in(*channel, bytes);
}

bool ShmPorts::is_behind(const nic::Destination& destination, std::size_t bytes) {
  const auto route = peers_->routes().route_to(destination);
  if (!route) return false;
  ShmChannel* const channel = peers_->routes()[*route].tx.get();
  return channel != nullptr && channel->is_behind(bytes, ShmPeers::kStallMax);
}

void ShmPorts::publish() {
  peers_->outgoing().publish([this](ShmChannel& channel) {
    // Every hand-over may put one of the two to sleep, so that looking later would be looking always, and each time a
    // timer to be set: a fence is cheaper than either.
    channel.tx.publish(true);
    peers_->watch().published(channel, ring_or_hold(channel));
  });
}

std::size_t ShmPorts::receive(Time now, PeerSink& sink, std::size_t budget) {
  const std::size_t count = peers_->take_frames(sink, budget, [&](const ShmChannel& channel) {
    return channel.rx.empty() ? 0 : sink.turn(peers_->routes()[channel.route].peer);
  });
  if (!held_.empty())  // those that are gone are forgotten before flush() lets go of them
    std::erase_if(held_, [](const ShmChannel* channel) { return channel->dead.load(std::memory_order_relaxed); });
  peers_->watch().look(now);
  return count;
}

// -- Processes --------------------------------------------------------------------------------------------------------

void ShmPorts::take_calls() {
  peers_->control().service();
  peers_->apply_changes();
}

void ShmPorts::list_peers(std::vector<PeerName>& into) const {
  into.clear();
  for (const ShmPeers::Route& route : peers_->routes())
    if (route.tx != nullptr) into.push_back(route.peer);
}

ShmPorts::Presence ShmPorts::presence(const PeerName& peer) const {
  const auto route = peers_->routes().route_to(peer);
  if (!route) return {};
  const ShmPeers::Route& way = peers_->routes()[*route];
  return {.arrivals = way.arrivals, .is_there = way.tx != nullptr, .is_draining = is_draining(*peers_, *route)};
}

// -- Sleeping and waking ----------------------------------------------------------------------------------------------

bool ShmPorts::arm(PeerSink& sink) {
  peers_->page().thread_sleeps();
  yielded_cores_.count_polls_beside();
  return peers_->arm([&](const ShmChannel& channel) { return sink.turn(peers_->routes()[channel.route].peer); });
}

Link::WaitDescriptors ShmPorts::wait_descriptors() const {
  return {.frames = peers_->control().doorbell(), .control = peers_->control().wait_descriptor()};
}

/// Returns whether the process has been rung, or has its core back.
bool ShmPorts::ring_or_hold(ShmChannel& channel) {
  if (YieldedCores::has_yielded(channel)) {
    if (!channel.has_taken_all()) hold_doorbell(channel);
    return false;
  }
  if (!PeerWatch::is_asleep_over(channel)) return false;
  if (!channel.peer_sleeps_on_our_cpu()) return wake(channel);
  hold_doorbell(channel);
  return false;
}

bool ShmPorts::wake(ShmChannel& channel) {
  const bool had_yielded = YieldedCores::give_back(channel);
  return peers_->watch().wake(channel) || had_yielded;
}

void ShmPorts::hold_doorbell(ShmChannel& channel) {
  if (!std::exchange(channel.holds_doorbell, true)) held_.push_back(&channel);
}

void ShmPorts::ring_held_doorbells() {
  for (ShmChannel* channel : held_) {
    channel->holds_doorbell = false;
    if (!channel->has_taken_all() && wake(*channel)) channel->waker.was_rung();
  }
  held_.clear();
}

}  // namespace verbena::host
