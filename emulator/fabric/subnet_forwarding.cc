#include "emulator/fabric/subnet_forwarding.h"

#include <algorithm>
#include <utility>

#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/network_qos.h"
#include "wire/encapsulation.h"
#include "wire/infiniband.h"
#include "wire/packet_view.h"

namespace verbena::fabric {
namespace {

constexpr std::string_view kDamaged = "verbena: dropped, its VCRC is wrong";
constexpr std::string_view kNotActive = "verbena: dropped, the state of its port";
constexpr std::string_view kNoWay = "verbena: dropped, the switch has no way for it";
constexpr std::string_view kPartition = "verbena: dropped, the P_Keys of a switch's port";
constexpr std::string_view kMisdirected = "verbena: dropped, the port has not its LID";

constexpr std::size_t kLrhBytes = wire::LocalRouteHeaderLayout::bytes;
constexpr std::size_t kBytesMin = kLrhBytes + wire::BthLayout::bytes + wire::kIcrcBytes + wire::kVcrcBytes;
constexpr std::uint32_t kOwners = wire::kLidUnicastMax.value() + 1u;

bool is_listening(wire::PortState state) {
  return state == wire::PortState::armed || state == wire::PortState::active;
}

}  // namespace

SubnetForwarding::SubnetForwarding(Network::State& network)
    : network_(network),
      ports_(network.directions.size()),
      switches_(network.topology.switches()),
      lids_(network.topology.hosts),
      owners_(kOwners, kNoHost),
      had_signal_(network.topology.cables.size(), true) {
  const Topology& topology = network.topology;
  std::vector<std::uint32_t> counted(topology.vertices.size());
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    for (const bool backward : {false, true}) {
      const std::uint32_t vertex = backward ? cable.b : cable.a;
      const std::uint32_t own = backward ? cable.port_b : cable.port_a;
      const DirectionNumber number = network.direction_of({i, backward});
      ++counted[vertex];
      Port& port = ports_[number];
      port.number = static_cast<std::uint8_t>(own != 0 ? own : counted[vertex]);  // as Topology::port_of
      port.reverse = network.direction_of({i, !backward});
      network.directions[number].is_active = false;
      if (topology.is_host(vertex)) continue;
      std::vector<DirectionNumber>& ways = switches_[vertex - topology.hosts].ways;
      ways.resize(std::max<std::size_t>(ways.size(), port.number + 1u), kNoDirection);
      ways[port.number] = number;
    }
  }
  ways_.reserve(kManagedPortsMax);
  violations_.reserve(NetworkSubnet::kViolationsMax);
}

// -- What is in a packet

wire::LocalRouteHeader SubnetForwarding::lrh_of(FrameNumber frame) const {
  return wire::LocalRouteHeaderLayout::parse(
      std::span<const std::byte>(network_.pool.octets(frame)).first<kLrhBytes>());
}

TrafficClass SubnetForwarding::lane_of(FrameNumber frame) const {
  return lrh_of(frame).virtual_lane % kTrafficClasses;
}

void SubnetForwarding::set_lane(FrameNumber frame, TrafficClass lane) {
  constexpr unsigned kShift = 4;
  constexpr std::byte kVersion{0x0f};
  const std::span<std::byte> octets = network_.pool.octets(frame);
  const auto first = static_cast<std::byte>(lane << kShift) | (octets[0] & kVersion);
  if (std::exchange(octets[0], first) == first) return;
  // A deferred ICRC is made with the VCRC behind it, and without payload there is neither. A bad packet stays bad.
  const FrameInfo& info = network_.pool.info(frame);
  if (!network_.qos->held_of(frame).is_bad && network_.options.payload && info.icrc == wire::IcrcState::present)
    wire::kInfiniBand.seal(octets.first(info.bytes));
}

bool SubnetForwarding::is_damaged(FrameNumber frame) const {
  const FrameInfo& info = network_.pool.info(frame);
  if (!info.corrupted) return false;
  if (!network_.options.payload) return info.icrc != wire::IcrcState::verified;
  return info.bytes < kBytesMin || !wire::kInfiniBand.is_sealed(network_.pool.octets(frame).first(info.bytes));
}

/// A switch that cuts through has begun to send a packet before its VCRC is there, and ends it as a bad one (EBP, 7.5).
bool SubnetForwarding::has_errors(Port& in, FrameNumber frame) {
  bool& is_bad = network_.qos->held_of(frame).is_bad;
  if (is_bad) {
    ++in.traffic.remote_errors;
    return true;
  }
  is_bad = is_damaged(frame);
  if (is_bad) {
    ++in.traffic.symbol_errors;
    ++in.traffic.receive_errors;
  }
  return is_bad;
}

bool SubnetForwarding::admits(DirectionNumber way, FrameNumber frame) {
  const wire::LinkNextHeader next = lrh_of(frame).next_header;
  if (next != wire::LinkNextHeader::iba_local && next != wire::LinkNextHeader::iba_global) return true;  // no P_Key
  const std::span<const std::byte> octets = network_.pool.octets(frame);
  const wire::Bth bth =
      wire::BthLayout::parse(octets.subspan(wire::infiniband_places(next).bth_at).first<wire::BthLayout::bytes>());
  // Managers give a switch's port the keys of the port at the other end, memberships and all (opensm does). So only the
  // partitions are compared here; that two limited members do not hear each other is the receiver's (10.9.3).
  const bool is_member = std::ranges::any_of(ports_[way].keys, [&](std::uint16_t key) {
    return (key & wire::kPkeyMask) != 0 && ((key ^ bth.pkey) & wire::kPkeyMask) == 0;
  });
  if (is_member || violations_.size() == NetworkSubnet::kViolationsMax) return is_member;
  const std::size_t bytes = std::min<std::size_t>(network_.pool.info(frame).bytes, octets.size());
  const auto packet = wire::parse_on(wire::Medium::infiniband, octets.first(bytes));
  if (packet.ok())
    violations_.push_back({network_.directions[way].from, ports_[way].number, wire::bad_key_details(*packet, false)});
  return false;
}

// -- Where a packet goes

bool SubnetForwarding::owns(std::uint32_t host, wire::Lid lid) const {
  return lid.value() - lids_[host].first < lids_[host].count;  // unsigned: below the first is far behind the last
}

bool SubnetForwarding::is_cut_off(std::uint32_t host, wire::Lid source) const {
  if (network_.cut_pairs.empty() || !source.is_unicast() || owners_[source.value()] == kNoHost) return false;
  return network_.cut_pairs.contains(std::uint64_t{owners_[source.value()]} << 32 | host);
}

DirectionNumber SubnetForwarding::way_of(const Switch& from, std::uint8_t port) const {
  return port < from.ways.size() ? from.ways[port] : kNoDirection;
}

std::uint32_t SubnetForwarding::enter(std::uint32_t host, FrameNumber frame) {
  const wire::LocalRouteHeader lrh = lrh_of(frame);
  if (owns(host, lrh.destination)) return host;
  const DirectionNumber number = network_.single_way[host];
  if (number == kNoDirection) return kNoHost;
  Port& port = ports_[number];
  const std::uint8_t lane =
      port.lanes.empty() ? lrh.service_level % kTrafficClasses : port.lanes.front()[lrh.service_level];
  if (lane >= kTrafficClasses) {
    ++port.traffic.sent_discards;
    return kNoHost;
  }
  set_lane(frame, lane);
  return kBySubnet;
}

void SubnetForwarding::arrive(Time now, DirectionNumber number, FrameNumber frame, Sink& sink) {
  const LinkDirection& direction = network_.directions[number];
  Port& in = ports_[ports_[number].reverse];
  network_.lanes->arrived(number, frame);
  if (network_.is_dead[direction.to] != 0) return drop(now, number, frame, {});
  const std::uint32_t bytes = network_.pool.info(frame).bytes;
  ++in.traffic.received_packets;
  in.traffic.received_octets += bytes - std::min<std::uint32_t>(bytes, wire::kVcrcBytes);
  if (has_errors(in, frame) && !(network_.lanes->cuts_through(number) && bytes >= kBytesMin))
    return drop(now, number, frame, kDamaged);
  if (lrh_of(frame).destination.is_multicast()) ++in.traffic.received_multicast_packets;
  if (!is_listening(in.state)) return drop(now, number, frame, kNotActive);
  if (network_.topology.is_host(direction.to))
    deliver(now, number, frame, sink);
  else
    relay(now, number, frame);
}

void SubnetForwarding::deliver(Time now, DirectionNumber number, FrameNumber frame, Sink& sink) {
  const std::uint32_t host = network_.directions[number].to;
  const wire::LocalRouteHeader lrh = lrh_of(frame);
  ++network_.statistics.host_arrivals;
  if (!lrh.destination.is_multicast() && !owns(host, lrh.destination)) {
    ++ports_[ports_[number].reverse].traffic.misdirected;
    return drop(now, number, frame, kMisdirected);
  }
  network_.lanes->taken(now, frame);
  const FrameInfo& info = network_.pool.info(frame);
  const bool is_taken =
      !is_cut_off(host, lrh.source) && sink.arrived({now, host, network_.view(frame), info.corrupted, info.icrc});
  network_.end(now, number, frame, is_taken ? FrameEvent::delivered : FrameEvent::vanished);
}

void SubnetForwarding::relay(Time now, DirectionNumber number, FrameNumber frame) {
  Port& in = ports_[ports_[number].reverse];
  if (in.enforces_inbound && !admits(ports_[number].reverse, frame)) {
    ++in.traffic.received_constraint_errors;
    return drop(now, number, frame, kPartition);
  }
  const Switch& at = switches_[network_.directions[number].to - network_.topology.hosts];
  ways_.clear();
  const bool is_for_group = lrh_of(frame).destination.is_multicast();
  const auto error = is_for_group ? find_group_ways(in, at, frame) : find_way(in, at, frame);
  if (error != nullptr) {
    ++in.traffic.relay_errors;
    ++(in.traffic.*error);
  }
  if (ways_.empty()) return drop(now, number, frame, kNoWay);
  network_.note(now, number, network_.pool.info(frame), FrameEvent::delivered);
  network_.show(now, number, frame, FrameEvent::delivered);
  for (const Way& way : std::span(ways_).first(ways_.size() - 1)) {
    const FrameNumber made = network_.copy(frame);
    if (made == kNoFrame)
      ++network_.statistics.overflowed;
    else
      send(now, way, made);
  }
  send(now, ways_.back(), frame);
}

/// Null: the switch can relay it. Back to where it came from it cannot (16.1.4.1).
SubnetForwarding::RelayError SubnetForwarding::find_way(Port& in, const Switch& at, FrameNumber frame) {
  const std::uint16_t lid = lrh_of(frame).destination.value();
  const std::uint8_t port = lid < at.forwarding.size() ? at.forwarding[lid] : UINT8_MAX;
  const DirectionNumber out = way_of(at, port);
  if (out == kNoDirection) return &PortTraffic::unknown_lid_errors;
  if (port == in.number) return &PortTraffic::looping_errors;
  return add_way(in, out, frame) ? nullptr : &PortTraffic::lane_errors;
}

SubnetForwarding::RelayError SubnetForwarding::find_group_ways(Port& in, const Switch& at, FrameNumber frame) {
  const std::size_t group = lrh_of(frame).destination.value() - wire::kLidMulticastMin.value();
  if (group >= at.groups.size() || at.groups[group].empty()) return &PortTraffic::unknown_lid_errors;
  bool has_lanes = true;
  for (const std::uint8_t port : at.groups[group]) {
    const DirectionNumber out = way_of(at, port);
    if (out != kNoDirection && port != in.number) has_lanes = add_way(in, out, frame) && has_lanes;
  }
  return has_lanes ? nullptr : &PortTraffic::lane_errors;
}

/// False: it has no lane there.
bool SubnetForwarding::add_way(Port& in, DirectionNumber out, FrameNumber frame) {
  Port& port = ports_[out];
  if (port.enforces_outbound && !admits(out, frame)) {
    ++port.traffic.sent_constraint_errors;
    return true;
  }
  const std::uint8_t level = lrh_of(frame).service_level;
  const std::uint8_t lane =
      in.number < port.lanes.size() ? port.lanes[in.number][level] : static_cast<std::uint8_t>(level % kTrafficClasses);
  if (lane >= kTrafficClasses) return false;
  ways_.push_back({out, lane});
  return true;
}

void SubnetForwarding::send(Time now, Way way, FrameNumber frame) {
  set_lane(frame, way.lane);
  network_.qos->held_of(frame).traffic_class = way.lane;
  network_.qos->enqueue(now, way.number, frame);
}

void SubnetForwarding::drop(Time now, DirectionNumber number, FrameNumber frame, std::string_view why) {
  network_.lanes->taken(now, frame);
  if (!why.empty()) network_.comment(frame, why);
  network_.end(now, number, frame, FrameEvent::vanished);
}

std::optional<TrafficClass> SubnetForwarding::choose(Time now, DirectionNumber number, EgressPort& egress) {
  LaneArbiter& arbiter = ports_[number].arbiter;
  if (!arbiter.is_set()) return egress.choose(now, network_.pool);
  LaneArbiter::Heads heads{};
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto lane = static_cast<TrafficClass>(i);
    const FrameNumber head = egress.first_of(lane);
    if (head != kNoFrame && !egress.is_paused(now, lane)) heads[i] = network_.pool.info(head).bytes;
  }
  return arbiter.choose(heads);
}

void SubnetForwarding::leaves(DirectionNumber number, FrameNumber frame) {
  PortTraffic& traffic = ports_[number].traffic;
  ++traffic.sent_packets;
  traffic.sent_octets += network_.pool.info(frame).bytes - wire::kVcrcBytes;
  if (lrh_of(frame).destination.is_multicast()) ++traffic.sent_multicast_packets;
}

Duration SubnetForwarding::head_of_queue_life(DirectionNumber number) const {
  return ports_[number].head_life.value_or(network_.topology.qos->head_of_queue_life);
}

// -- What changes

void SubnetForwarding::signal_changes(std::uint32_t cable) {
  const bool has_signal = network_.has_signal(cable);
  if (had_signal_[cable] == has_signal) return;
  had_signal_[cable] = has_signal;
  for (const bool backward : {false, true}) {
    const DirectionNumber number = network_.direction_of({cable, backward});
    ports_[number].state = has_signal ? wire::PortState::init : wire::PortState::down;
    network_.directions[number].is_active = false;
  }
}

// -- For NetworkSubnet

DirectionNumber SubnetForwarding::way_out(std::uint32_t vertex, std::uint8_t port) const {
  const Topology& topology = network_.topology;
  if (vertex >= topology.vertices.size()) return kNoDirection;
  if (!topology.is_host(vertex)) return way_of(switches_[vertex - topology.hosts], port);
  return port == 1 ? network_.single_way[vertex] : kNoDirection;
}

void SubnetForwarding::set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc) {
  Range& range = lids_[host];
  const auto for_each = [&](const auto& visit) {
    for (std::size_t lid = range.first; lid < range.first + range.count; ++lid) visit(owners_[lid]);
  };
  for_each([&](std::uint32_t& owner) {
    if (owner == host) owner = kNoHost;
  });
  range = {};
  if (base.is_unicast()) range = {base.value(), std::min<std::uint32_t>(1u << lmc, kOwners - base.value())};
  for_each([&](std::uint32_t& owner) { owner = host; });
}

void SubnetForwarding::discard_waiting(Time now, DirectionNumber number) {
  EgressPort& egress = network_.qos->ports_[number].egress;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto lane = static_cast<TrafficClass>(i);
    while (egress.frames_of(lane) != 0) {
      const FrameNumber frame = egress.pop(now, lane, network_.pool);
      is_discarded(number, &PortTraffic::sent_inactive_discards);
      drop(now, number, frame, kNotActive);
    }
  }
  network_.qos->serve(now, number);
}

void SubnetForwarding::set_port_state(Time now, DirectionNumber number, wire::PortState state) {
  LinkDirection& direction = network_.directions[number];
  Port& port = ports_[number];
  if (state == wire::PortState::no_change || !network_.has_signal(direction.link.cable)) return;
  port.state = state;
  const bool was_active = std::exchange(direction.is_active, state == wire::PortState::active);
  if (was_active == direction.is_active) return;
  if (was_active) discard_waiting(now, number);
  if (network_.topology.is_host(direction.from) && network_.port_listener != nullptr)
    network_.port_listener->room_changed(direction.from);
}

}  // namespace verbena::fabric
