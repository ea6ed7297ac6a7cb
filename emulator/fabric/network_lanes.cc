#include "emulator/fabric/network_lanes.h"

#include <algorithm>
#include <utility>

#include "emulator/fabric/subnet_forwarding.h"
#include "wire/infiniband.h"

namespace verbena::fabric {
namespace {

/// So long a lane stands still before it is looked for a deadlock.
constexpr Duration kStallLook = milliseconds(1);
constexpr std::string_view kTooLongAtHead = "verbena: dropped, no credit for the life of a queue's head";

}  // namespace

NetworkLanes::NetworkLanes(Network::State& network, const Qos& qos)
    : network_(network), qos_(qos), credits_(qos.lane_buffer_bytes) {
  for (const LinkDirection& direction : network.directions)
    credits_.add(
        direction.is_loopback ? kNoDirection : network.direction_of({direction.link.cable, !direction.link.backward}),
        direction.rate);
  find_cuts_through();
}

// -- A frame's way

void NetworkLanes::arrived(DirectionNumber number, FrameNumber frame) {
  NetworkQos::Held& held = network_.qos->held_of(frame);
  held.came_by = number;
  held.lies_in_buffer = true;
  held.buffer_lane = held.traffic_class;
  credits_.arrived(number, held.traffic_class, network_.pool.info(frame).bytes);
}

void NetworkLanes::taken(Time now, FrameNumber frame) {
  NetworkQos::Held& held = network_.qos->held_of(frame);
  if (!std::exchange(held.lies_in_buffer, false)) return;
  if (!credits_.freed(held.came_by, held.buffer_lane, network_.pool.info(frame).bytes)) return;
  const DirectionNumber back = port(held.came_by).reverse;
  // It goes once its turn comes, not from within what is being done here.
  port(back).due = std::max(now, network_.directions[back].wire_free);
  network_.schedule(back);
}

void NetworkLanes::leaves(Time now, DirectionNumber number, TrafficClass lane, std::uint32_t bytes) {
  credits_.sent(now, number, lane, bytes);
  find_stalls(now, number);
}

/// A lane whose first frame has no credit waits as one that is paused does, and is counted so.
void NetworkLanes::find_stalls(Time now, DirectionNumber number) {
  EgressPort& egress = port(number).egress;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto lane = static_cast<TrafficClass>(i);
    const FrameNumber head = egress.first_of(lane);
    const bool may_go = head == kNoFrame || credits_.may_send(number, lane, network_.pool.info(head).bytes);
    if (may_go == egress.is_paused(now, lane)) egress.pause(now, bit_of(lane), now, may_go ? now : kNever);
  }
}

void NetworkLanes::look_at_heads(Time now, DirectionNumber number) {
  find_stalls(now, number);
  EgressPort& egress = port(number).egress;
  const Duration life = life_at(number);
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto lane = static_cast<TrafficClass>(i);
    const Time since = egress.stuck_since(now, lane);
    if (since == kNever) continue;
    if (now >= since + kStallLook) network_.qos->look_for_deadlock(now);
    if (life.ns == 0 || now < since + life) continue;
    drop(now, number, egress.pop(now, lane, network_.pool));
    find_stalls(now, number);
  }
}

Duration NetworkLanes::life_at(DirectionNumber number) const {
  if (!network_.qos->is_from_switch(number)) return {};
  return network_.subnet ? network_.subnet->head_of_queue_life(number) : qos_.head_of_queue_life;
}

/// As the switch is told to: no rule of lossless lanes is broken.
void NetworkLanes::drop(Time now, DirectionNumber number, FrameNumber frame) {
  taken(now, frame);
  if (network_.subnet) network_.subnet->is_discarded(number, &PortTraffic::sent_life_discards);
  ++network_.directions[number].lost;
  ++network_.statistics.lost;
  network_.comment(frame, kTooLongAtHead);
  network_.end(now, number, frame, FrameEvent::lost);
}

Time NetworkLanes::due(Time now, DirectionNumber number, Time free) const {
  Time earliest = credits_.owes(now, number) ? free : std::max(free, credits_.due(number));
  const NetworkQos& qos = *network_.qos;
  const Duration life = life_at(number);
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const Time since = qos.egress(number).stuck_since(now, static_cast<TrafficClass>(i));
    if (since == kNever) continue;
    if (!qos.deadlock()) earliest = std::min(earliest, std::max({since + kStallLook, qos.next_deadlock_look_, now}));
    if (life.ns != 0) earliest = std::min(earliest, since + life);
  }
  return earliest;
}

// -- Cut-through

Duration NetworkLanes::time_saved(DirectionNumber number, Duration wire_time) const {
  if (!cuts_through(number)) return {};
  const Duration header_time = network_.directions[number].time_of(wire::LocalRouteHeaderLayout::bytes);
  return wire_time - std::min(wire_time, header_time);
}

void NetworkLanes::find_cuts_through() {
  if (!qos_.cuts_through) return;
  constexpr std::uint64_t kNoTime = UINT64_MAX;
  std::vector<std::uint64_t> fastest(network_.topology.vertices.size());
  for (const LinkDirection& way : network_.directions)
    if (!way.is_loopback) fastest[way.from] = std::max(fastest[way.from], way.rate != 0 ? way.rate : kNoTime);
  cuts_through_.resize(network_.directions.size());
  for (DirectionNumber number = 0; number < network_.directions.size(); ++number) {
    const LinkDirection& way = network_.directions[number];
    cuts_through_[number] = !network_.topology.is_host(way.to) && way.rate >= fastest[way.to];
  }
}

// -- Flow control packets

void NetworkLanes::send_flow_control(Time now, DirectionNumber number) {
  const LinkDirection& direction = network_.directions[number];
  const wire::FlowControlPacket packet = credits_.next(now, number);
  if (!direction.is_up || network_.is_dead[direction.from] != 0) return;
  const FrameNumber frame = network_.pool.take(wire::kLinkPacketBytes);
  if (frame == kNoFrame) {  // the next one tells the same
    ++network_.statistics.overflowed;
    return;
  }
  ++network_.statistics.flow_control_packets;
  ++port(number).statistics.sent[packet.virtual_lane];
  FrameInfo& info = network_.pool.info(frame);
  info = {};
  info.bytes = wire::kLinkPacketBytes;
  info.destination = kNeighbour;
  info.digest =
      std::uint32_t{packet.total_blocks_sent} << 16 | std::uint32_t{packet.virtual_lane} << 12 | packet.credit_limit;
  std::ranges::copy(wire::write_link_packet(packet), network_.pool.octets(frame).begin());
  network_.transmit(now, number, frame);
}

void NetworkLanes::take_flow_control(Time now, DirectionNumber number, FrameNumber frame) {
  const auto read = wire::read_link_packet(network_.pool.octets(frame).first(network_.pool.info(frame).bytes));
  if (!read || !read->is_right || read->packet.virtual_lane >= kTrafficClasses) return;
  const DirectionNumber back = port(number).reverse;
  ++port(back).statistics.frames_received;
  ++port(back).statistics.received[read->packet.virtual_lane];
  credits_.take(number, read->packet);
  network_.qos->serve(now, back);
  if (!network_.qos->is_from_switch(back) && network_.port_listener != nullptr)
    network_.port_listener->room_changed(network_.directions[back].from);
}

// -- What changes

void NetworkLanes::link_is_up(Time now, DirectionNumber number) {
  credits_.link_is_up(number);
  network_.qos->serve(now, number);
}

void NetworkLanes::switch_is_up(Time now, std::uint32_t vertex) {
  for (DirectionNumber number = 0; number < network_.directions.size(); ++number) {
    const LinkDirection& direction = network_.directions[number];
    if (!direction.is_loopback && (direction.from == vertex || direction.to == vertex)) link_is_up(now, number);
  }
}

void NetworkLanes::withhold(Time now, DirectionNumber way_out, ClassMask lanes) {
  credits_.withhold(port(way_out).reverse, lanes);
  network_.qos->serve(now, way_out);
}

}  // namespace verbena::fabric
