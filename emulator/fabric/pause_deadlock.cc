#include "emulator/fabric/pause_deadlock.h"

#include <algorithm>

#include "emulator/fabric/link_credits.h"

namespace verbena::fabric {
namespace {

std::uint64_t octets_in_buffer(std::uint32_t bytes) {
  return std::uint64_t{credit_blocks(bytes)} * wire::kCreditBlockBytes;
}

}  // namespace

std::string PauseDeadlock::text(const Topology& topology) const {
  const auto name = [&](LinkId link) {
    const Cable& cable = topology.cables[link.cable];
    const std::uint32_t from = link.backward ? cable.b : cable.a;
    const std::uint32_t to = link.backward ? cable.a : cable.b;
    return topology.vertices[from].name + "->" + topology.vertices[to].name;
  };
  std::string text = topology.medium == wire::Medium::infiniband ? "lane " : "class ";
  text += std::to_string(traffic_class) + ": ";
  for (const LinkId link : links) text += name(link) + " waits for ";
  return text + name(links.front());
}

void DeadlockSearch::collect() {
  const Network::State& network = qos_.network_;
  for (DirectionNumber number = 0; number < qos_.ports_.size(); ++number) {
    const LinkDirection& direction = network.directions[number];
    if (direction.is_loopback || network.topology.is_host(direction.to)) continue;
    for (std::size_t i = 0; i < kTrafficClasses; ++i) {
      const auto group = static_cast<TrafficClass>(i);
      if (const auto octets = may_stay(number, group))
        waiters_.push_back({.direction = number, .group = group, .waits_with = *octets, .edges = {}});
    }
  }
}

std::optional<std::uint64_t> DeadlockSearch::may_stay(DirectionNumber number, TrafficClass group) const {
  const Network::State& network = qos_.network_;
  const NetworkQos::Port& port = qos_.ports_[number];
  if (!network.lanes) {
    if (!port.ingress.groups[group].is_paused) return std::nullopt;
    return qos_.memories_[network.directions[number].to - network.topology.hosts].xon_bytes();
  }
  const FrameNumber head = port.egress.first_of(group);
  if (head == kNoFrame || !port.egress.is_paused(now_, group)) return std::nullopt;
  // The buffer is a whole number of blocks, and so is what each packet takes of it.
  return std::uint64_t{qos_.qos_.lane_buffer_bytes} / wire::kCreditBlockBytes * wire::kCreditBlockBytes -
         octets_in_buffer(network.pool.info(head).bytes);
}

/// Finds which other waiters keep its frames.
void DeadlockSearch::join(Waiter& waiter) {
  const Network::State& network = qos_.network_;
  for (std::size_t i = 0; i < waiters_.size(); ++i) {
    const Waiter& other = waiters_[i];
    // With lanes, a switch may send in another one than the packet came in.
    if (network.directions[other.direction].from != network.directions[waiter.direction].to ||
        (other.group != waiter.group && !network.subnet))
      continue;
    const EgressPort& egress = qos_.ports_[other.direction].egress;
    std::uint64_t octets = 0;
    for (std::size_t c = 0; c < kTrafficClasses; ++c) {
      const auto traffic_class = static_cast<TrafficClass>(c);
      if (qos_.qos_.pause_group(traffic_class) != other.group || !egress.is_paused(now_, traffic_class)) continue;
      for (FrameNumber frame = egress.first_of(traffic_class); frame != kNoFrame; frame = network.pool.info(frame).next)
        if (qos_.held_[frame].came_by == waiter.direction &&
            (!network.subnet || qos_.held_[frame].buffer_lane == waiter.group))
          octets += network.lanes ? octets_in_buffer(network.pool.info(frame).bytes) : network.pool.info(frame).bytes;
    }
    if (octets != 0) waiter.edges.push_back({i, octets});
  }
}

bool DeadlockSearch::free_those_that_can_go() {
  bool has_changed = false;
  for (Waiter& waiter : waiters_) {
    if (!waiter.is_stuck) continue;
    std::uint64_t kept = 0;
    for (const Waiter::Edge& edge : waiter.edges)
      if (waiters_[edge.to].is_stuck) kept += edge.octets;
    if (kept > waiter.waits_with) continue;
    waiter.is_stuck = false;
    has_changed = true;
  }
  return has_changed;
}

std::optional<PauseDeadlock> DeadlockSearch::find() {
  collect();
  for (Waiter& waiter : waiters_) join(waiter);
  while (free_those_that_can_go()) {
  }
  if (std::none_of(waiters_.begin(), waiters_.end(), [](const Waiter& waiter) { return waiter.is_stuck; }))
    return std::nullopt;
  return describe();
}

/// Who is stuck waits for one that is stuck: from any of them on, somebody comes twice.
PauseDeadlock DeadlockSearch::describe() const {
  std::vector<std::size_t> way;
  std::size_t at = 0;
  while (!waiters_[at].is_stuck) ++at;
  while (std::find(way.begin(), way.end(), at) == way.end()) {
    way.push_back(at);
    const auto& edges = waiters_[at].edges;
    at = std::find_if(edges.begin(), edges.end(), [&](const Waiter::Edge& edge) {
           return waiters_[edge.to].is_stuck;
         })->to;
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), at));
  PauseDeadlock found{.time = now_, .traffic_class = waiters_[at].group, .links = {}};
  for (const std::size_t waiter : way) found.links.push_back(qos_.network_.directions[waiters_[waiter].direction].link);
  return found;
}

}  // namespace verbena::fabric
