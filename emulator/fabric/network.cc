// The surface of a network: how it is made, how frames get in, how time passes.
#include "emulator/fabric/network.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/network_qos.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/subnet_forwarding.h"
#include "wire/assert.h"
#include "wire/headers.h"

namespace verbena::fabric {
namespace {

/// What a host's NIC may have handed over and not yet sent: enough to keep the wire busy, few enough that its window,
/// its turns among QPs and its acknowledgements are not decided long before.
constexpr std::uint32_t kHostQueueFrames = 4;
/// The NIC is asked again when so much is left.
constexpr std::uint32_t kHostQueueLowFrames = 1;
constexpr std::uint32_t kHostQueueBytesMin = 16 * wire::kFrameBytesMax;

/// The MTU of an Ethernet is that of the IP packet in it, InfiniBand's that of the payload (IBA volume 1, 7.7.8: 126
/// octets of headers and CRCs come on top).
std::uint32_t bytes_beside_mtu(wire::Medium medium) {
  constexpr std::uint32_t kInfiniBandBytes = 126;
  return medium == wire::Medium::ethernet ? wire::EthernetLayout::bytes : kInfiniBandBytes;
}

std::vector<LinkDirection> make_directions(const Topology& topology) {
  std::vector<LinkDirection> directions;
  directions.reserve(2 * topology.cables.size() + topology.hosts);
  const auto add = [&](std::uint32_t from, std::uint32_t to, const CableParameters& parameters, LinkId link) {
    LinkDirection& direction = directions.emplace_back();
    direction.from = from;
    direction.to = to;
    direction.propagation = parameters.propagation;
    // A host's own queue holds what its NIC hands over while there is room (has_room_at), and is no switch's.
    const bool from_host = topology.is_host(from);
    direction.queue_bytes = from_host ? std::max(parameters.queue_bytes, kHostQueueBytesMin) : parameters.queue_bytes;
    direction.marks = parameters.ecn.kmax_bytes != 0 && !from_host;
    direction.ecn = parameters.ecn;
    direction.stamps = parameters.telemetry && !from_host;
    if (parameters.mtu_bytes != 0)
      direction.frame_bytes_max = static_cast<std::uint16_t>(
          std::min<std::uint32_t>(parameters.mtu_bytes + bytes_beside_mtu(topology.medium), UINT16_MAX));
    direction.link = link;
    direction.has_classes = topology.qos && from != to;
    direction.has_lanes = direction.has_classes && topology.qos->flow_control == FlowControl::credits;
    direction.set_rate(parameters.rate_bits_per_second);
    direction.find_plain();
  };
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    add(cable.a, cable.b, cable.parameters, {i, false});
    add(cable.b, cable.a, cable.parameters, {i, true});
  }
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    add(host, host, {.propagation = Duration{}}, {UINT32_MAX, false});
    directions.back().is_loopback = true;
  }
  std::sort(directions.begin(), directions.end(), [](const LinkDirection& a, const LinkDirection& b) {
    return a.to != b.to ? a.to < b.to : a.link < b.link;
  });
  return directions;
}

}  // namespace

void LinkDirection::set_rate(std::uint64_t bits_per_second) {
  queue_octets_max = std::max(queue_octets_max, octets_of(backlog_max));
  backlog_max = {};
  rate = bits_per_second;
  known_bytes = 0;
  known_time = {};
  largest_frame = time_of(wire::kFrameBytesMax);
  constexpr std::uint32_t kOctetsMax = 2'000'000'000;
  queue_max = time_of(std::min(queue_bytes, kOctetsMax));
  mark_above = time_of(std::min(ecn.kmin_bytes, kOctetsMax));
  mark_all_above = time_of(std::min(ecn.kmax_bytes, kOctetsMax));
}

bool LinkDirection::is_marked_behind(Duration waiting, std::uint64_t draw) const {
  if (waiting <= mark_above) return false;
  if (waiting > mark_all_above) return true;
  auto above = static_cast<std::uint64_t>((waiting - mark_above).ns);
  auto span = static_cast<std::uint64_t>((mark_all_above - mark_above).ns);
  constexpr std::uint64_t kBillion = 1'000'000'000;
  constexpr int kBitsMax = 34;  // times a billion, they fit
  const int excess = std::max(0, static_cast<int>(std::bit_width(span)) - kBitsMax);
  above >>= excess;
  span >>= excess;
  return draw % kBillion < above * ecn.pmax_ppb / span;
}

Time LinkDirection::has_room_at(Time now) const {
  const Duration waiting = backlog(now);
  if (waiting <= largest_frame * (kHostQueueFrames - 1)) return now;
  return now + (waiting - largest_frame * kHostQueueLowFrames);
}

std::uint32_t LinkDirection::octets_of(Duration time) const {
  // In two steps, so that no product is too large: whole microseconds, then the rest.
  const auto ns = static_cast<std::uint64_t>(time.ns);
  return static_cast<std::uint32_t>(ns / 1000 * (rate / 1000) / 8000 + ns % 1000 * (rate / 1000) / 8'000'000);
}

Network::State::State(const Topology& of, const NetworkOptions& with)
    : topology(of),
      options(with),
      directions(make_directions(of)),
      by_link(2 * of.cables.size()),
      loopbacks(of.hosts),
      ways_out(of.hosts),
      single_way(of.hosts, kNoDirection),
      pool(with.payload, with.frames_max),
      queue(static_cast<std::uint32_t>(directions.size())),
      is_dead(of.vertices.size()),
      link_epochs(directions.size()),
      switch_epochs(of.vertices.size()),
      link_believed_up(directions.size(), true),
      switch_believed_up(of.vertices.size(), true),
      port_up(of.hosts, true),
      prefetcher(directions.size()) {
  std::vector<Hop> hops;
  for (DirectionNumber number = 0; number < directions.size(); ++number) {
    const LinkDirection& direction = directions[number];
    if (direction.is_loopback) {
      loopbacks[direction.to] = number;
      continue;
    }
    by_link[2 * std::size_t{direction.link.cable} + direction.link.backward] = number;
    hops.push_back({direction.from, direction.to, number});
    if (of.is_host(direction.from)) ways_out[direction.from].push_back(number);
  }
  for (std::uint32_t host = 0; host < of.hosts; ++host)
    if (ways_out[host].size() == 1) single_way[host] = ways_out[host].front();
  routing = std::make_unique<Routing>(topology, hops, options.seed);
  tree = std::make_unique<SpanningTree>(topology, hops);
  rebuild_routes();
  if (!topology.qos) return;
  if (topology.qos->flow_control == FlowControl::credits) lanes = std::make_unique<NetworkLanes>(*this, *topology.qos);
  qos = std::make_unique<NetworkQos>(*this, *topology.qos);
  if (topology.is_managed) subnet = std::make_unique<SubnetForwarding>(*this);
}
Network::State::~State() = default;

Network::Network(const Topology& topology, const NetworkOptions& options)
    : state_(std::make_unique<State>(topology, options)) {}
Network::~Network() = default;

const Topology& Network::topology() const {
  return state_->topology;
}

void Network::add_address(std::uint32_t host, const wire::Gid& address) {
  VERBENA_ASSERT(host < state_->topology.hosts);
  state_->addresses.add(address, host);
  state_->last_flow = {};
}

std::span<std::byte> Network::reserve(std::size_t bytes) {
  State& state = *state_;
  VERBENA_ASSERT(!state.is_open && bytes <= wire::kFrameBytesMax);
  state.is_open = true;
  if (state.open != kNoFrame && !state.pool.suits(state.open, bytes)) {
    state.pool.give_back(state.open);
    state.open = kNoFrame;
  }
  if (state.open == kNoFrame) state.open = state.pool.take(bytes);
  state.is_open_in_scratch = state.open == kNoFrame || (!state.options.payload && bytes > kStoredBytes);
  return state.is_open_in_scratch ? std::span(state.build_scratch).first(bytes)
                                  : state.pool.octets(state.open).first(bytes);
}

void Network::cancel() {
  VERBENA_ASSERT(state_->is_open);
  state_->is_open = false;  // the place is kept for the next one
}

void Network::commit(Time now, std::uint32_t host, std::size_t bytes, wire::IcrcState icrc) {
  State& state = *state_;
  VERBENA_ASSERT(state.options.payload || icrc != wire::IcrcState::deferred);
  VERBENA_ASSERT(state.is_open && bytes <= wire::kFrameBytesMax && host < state.topology.hosts);
  state.is_open = false;
  const FrameNumber frame = state.open;
  if (frame == kNoFrame) {
    ++state.statistics.overflowed;
    return;
  }
  state.open = kNoFrame;
  FrameInfo& info = state.pool.info(frame);
  info = {};
  info.bytes = static_cast<std::uint16_t>(bytes);
  info.icrc = state.options.payload ? icrc : wire::IcrcState::verified;
  state.enter(now, host, frame, state.is_open_in_scratch ? state.build_scratch : state.pool.octets(frame));
}

void Network::submit(Time now, std::uint32_t host, std::span<const std::byte> frame, wire::IcrcState icrc) {
  if (frame.size() > wire::kFrameBytesMax) {
    ++state_->statistics.overflowed;
    return;
  }
  const std::span<std::byte> room = reserve(frame.size());
  if (!frame.empty()) std::memcpy(room.data(), frame.data(), frame.size());
  commit(now, host, frame.size(), icrc);
}

Time Network::has_room_at(Time now, std::uint32_t host, const Intent* intent) const {
  DirectionNumber way = state_->single_way[host];
  if (state_->subnet) {  // whose tables alone tell in which lane it will be
    const Room room = intent != nullptr && way != kNoDirection ? state_->qos->room(now, way, 0) : Room{1, now};
    return room.octets != 0 ? now : room.more_at;
  }
  if (way == kNoDirection || state_->qos) {
    const std::uint32_t to = intent != nullptr ? state_->addresses.find(intent->destination) : kNoHost;
    way = to == host ? state_->loopbacks[host] : to == kNoHost ? kNoDirection : state_->routing->first(host, to);
    if (way == kNoDirection) return now;
    if (state_->directions[way].has_classes) return state_->qos->has_room_at(now, way, intent->traffic_class);
  }
  return state_->directions[way].has_room_at(now);
}

bool Network::room_depends(std::uint32_t host) const {
  return state_->single_way[host] == kNoDirection || state_->qos != nullptr;
}

std::uint32_t Network::room_frames(Time now, std::uint32_t host) const {
  const DirectionNumber way = state_->single_way[host];
  if (way == kNoDirection || state_->qos) return kHostQueueFrames;
  const LinkDirection& direction = state_->directions[way];
  const Duration backlog = direction.backlog(now);
  std::uint32_t room = kHostQueueFrames;
  for (Duration waiting{}; waiting < backlog && room > 1; waiting = waiting + direction.largest_frame) --room;
  return room;
}

Room Network::room_on_every_way(Time now, std::uint32_t host, ClassMask held) const {
  Room room{UINT32_MAX, now};
  for (const DirectionNumber way : state_->ways_out[host]) {
    const LinkDirection& direction = state_->directions[way];
    if (direction.rate == 0) continue;
    if (direction.has_classes) {
      const Room of_way = state_->qos->room(now, way, held);
      room.held |= of_way.held;
      room.octets = std::min(room.octets, of_way.octets);
      if (of_way.octets == 0) room.more_at = std::max(room.more_at, of_way.more_at);
      continue;
    }
    const Duration backlog = direction.backlog(now);
    if (const Time at = direction.has_room_at(now); at > now) {
      room.octets = 0;
      room.more_at = std::max(room.more_at, at);
    } else {
      const std::uint32_t left = direction.octets_of(direction.largest_frame * kHostQueueFrames - backlog);
      room.octets = std::min(room.octets, std::max(left, 1u));
    }
  }
  return room;
}

AtNic at_nic(const ObservedFrame& frame, const Topology& topology) {
  if (frame.event == FrameEvent::entered) return AtNic::leaves;
  if (frame.event != FrameEvent::delivered) return AtNic::no;
  const Cable& cable = topology.cables[frame.link.cable];
  return topology.is_host(frame.link.backward ? cable.a : cable.b) ? AtNic::arrives : AtNic::no;
}

std::optional<Time> Network::next_deadline() const {
  Time earliest = state_->queue.earliest();
  if (!state_->changes.empty()) earliest = std::min(earliest, state_->changes.front().due);
  if (earliest == kNever) return std::nullopt;
  return earliest;
}

void Network::run(Time now, Sink& sink) {
  State& state = *state_;
  for (;;) {
    const Time next = state.queue.earliest();
    const Time change = state.changes.empty() ? kNever : state.changes.front().due;
    if (std::min(next, change) > now) return;
    if (change <= next) {
      state.apply_changes(change);
      continue;
    }
    state.due.clear();
    state.queue.take_earliest(state.due);
    state.statistics.events += state.due.size();
    state.prefetcher.run(state, next);
    const Time until = std::min(next + state.options.grain, std::min(now, change));
    for (const DirectionNumber number : state.due) state.run_direction(next, until, number, sink);
  }
}

const NetworkStatistics& Network::statistics() const {
  return state_->statistics;
}

LinkStatistics Network::link_statistics(Time now, LinkId link) const {
  const DirectionNumber number = state_->direction_of(link);
  const LinkDirection& direction = state_->directions[number];
  LinkStatistics statistics{direction.frames,
                            direction.octets,
                            direction.lost,
                            direction.overflowed,
                            direction.octets_of(direction.backlog(now)),
                            std::max(direction.queue_octets_max, direction.octets_of(direction.backlog_max)),
                            direction.rate,
                            direction.propagation,
                            direction.jitter};
  if (!direction.has_classes) return statistics;
  const EgressPort& egress = state_->qos->egress(number);
  statistics.queue_octets += static_cast<std::uint32_t>(egress.octets());
  statistics.queue_octets_max = std::max(statistics.queue_octets_max, static_cast<std::uint32_t>(egress.octets_max()));
  return statistics;
}

PauseStatistics Network::pause_statistics(Time now, LinkId link) const {
  return state_->qos ? state_->qos->pause_statistics(now, state_->direction_of(link)) : PauseStatistics{};
}

std::optional<PauseDeadlock> Network::pause_deadlock() const {
  return state_->qos ? state_->qos->deadlock() : std::nullopt;
}

void Network::observe(Observer* observer) {
  state_->observer = observer;
}

std::uint64_t Network::trace_hash() const {
  return state_->hash;
}

std::uint64_t Network::memory_bytes() const {
  return state_->pool.memory_bytes() + state_->routing->memory_bytes() +
         state_->directions.size() * sizeof(LinkDirection);
}

}  // namespace verbena::fabric
