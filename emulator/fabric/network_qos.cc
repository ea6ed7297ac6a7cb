#include "emulator/fabric/network_qos.h"

#include <algorithm>

#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/pause_deadlock.h"
#include "emulator/fabric/subnet_forwarding.h"
#include "wire/assert.h"
#include "wire/pause_frame.h"

namespace verbena::fabric {
namespace {

/// Of each class, for what a host's NIC may have handed over and not yet sent.
constexpr std::uint32_t kHostQueueFrames = 4;
/// The same of a class that is held back, for what was on its way when it was paused: a full ring of short frames
/// (ShmUplink::kDepthBytes).
constexpr std::uint32_t kHeldClassFramesMax = 4096;
constexpr std::uint64_t kHeldBytesMax = std::uint64_t{kHeldClassFramesMax + kHostQueueFrames} * wire::kFrameBytesMax;
constexpr Duration kDeadlockInterval = milliseconds(1);

constexpr std::string_view kHeadroomFull = "verbena: dropped, lossless class without headroom";
constexpr std::string_view kGivenUp = "verbena: dropped, the port was paused for too long";

wire::MacAddress port_mac(std::uint32_t vertex) {
  // Locally administered, of the fabric's own ports.
  return {{0x02, 0x56, 0xff, static_cast<std::uint8_t>(vertex >> 16), static_cast<std::uint8_t>(vertex >> 8),
           static_cast<std::uint8_t>(vertex)}};
}

}  // namespace

NetworkQos::NetworkQos(Network::State& network, const Qos& qos) : network_(network), qos_(qos) {
  const Topology& topology = network.topology;
  memories_.assign(topology.switches(), SwitchMemory(qos));
  ports_.reserve(network.directions.size());
  for (const LinkDirection& direction : network.directions) {
    const DirectionNumber reverse =
        direction.is_loopback ? kNoDirection : network.direction_of({direction.link.cable, !direction.link.backward});
    ports_.emplace_back(qos, reverse);
    if (direction.is_loopback || network.lanes || topology.is_host(direction.to)) continue;
    const CableParameters& cable = topology.cables[direction.link.cable].parameters;
    memory_at(direction.to).add_port(ports_.back().ingress, headroom_of(qos, cable));
  }
}

NetworkQos::Held& NetworkQos::held_of(FrameNumber frame) {
  if (frame >= held_.size()) held_.resize(std::max<std::size_t>(2 * held_.size(), frame + std::size_t{1}));
  return held_[frame];
}

bool NetworkQos::is_from_switch(DirectionNumber number) const {
  return !network_.topology.is_host(network_.directions[number].from);
}

SwitchMemory& NetworkQos::memory_at(std::uint32_t vertex) {
  return memories_[vertex - network_.topology.hosts];
}

// -- A frame's way through a port

void NetworkQos::enqueue(Time now, DirectionNumber number, FrameNumber frame) {
  LinkDirection& direction = network_.directions[number];
  Port& port = ports_[number];
  const FrameInfo& info = network_.pool.info(frame);
  Held& held = held_of(frame);
  if (!is_from_switch(number)) {
    const TrafficClass traffic_class =
        network_.subnet ? network_.subnet->lane_of(frame) : qos_.class_of(network_.pool.octets(frame));
    held = {kNoDirection, traffic_class, false};
  }
  if (leads_nowhere(network_, number) || info.bytes > direction.frame_bytes_max) {
    if (network_.lanes) network_.lanes->taken(now, frame);
    if (network_.subnet)
      network_.subnet->is_discarded(number, leads_nowhere(network_, number) ? &PortTraffic::sent_inactive_discards
                                                                            : &PortTraffic::sent_mtu_discards);
    // It takes its time all the same, so that a host's sender without a window does not send for ever at once.
    if (!is_from_switch(number) && direction.has_room_at(now) == now)
      direction.wire_free = std::max(direction.wire_free, now) + direction.time_for(info.bytes);
    network_.end(now, number, frame, FrameEvent::vanished);
    return;
  }
  if (!admit(now, number, frame)) return;
  mark_behind_queue(number, frame);
  port.egress.push(now, held.traffic_class, frame, network_.pool);
  serve(now, number);
}

bool NetworkQos::admit(Time now, DirectionNumber number, FrameNumber frame) {
  LinkDirection& direction = network_.directions[number];
  const Port& port = ports_[number];
  const Held held = held_of(frame);
  const std::uint32_t bytes = network_.pool.info(frame).bytes;
  const std::uint64_t queue_bytes = port.egress.octets_of(held.traffic_class);
  if (held.lies_in_buffer) return true;
  if ((port.given_up & bit_of(held.traffic_class)) != 0 && qos_.watchdog.drops) {
    lose(now, number, frame, kGivenUp);
    return false;
  }
  const bool is_lossless = is_from_switch(number) && qos_.is_lossless(held.traffic_class);
  const std::uint64_t queue_bytes_max =
      is_from_switch(number) ? direction.queue_bytes : std::max(std::uint64_t{direction.queue_bytes}, kHeldBytesMax);
  bool has_room = queue_bytes == 0 || queue_bytes + bytes <= queue_bytes_max || (is_lossless && !network_.lanes);
  if (network_.lanes) {
    // A host's own, or a copy for a group.
  } else if (has_room && is_lossless) {
    const TrafficClass group = qos_.pause_group(held.traffic_class);
    SwitchMemory& memory = memory_at(direction.from);
    IngressPort& ingress = ports_[held.came_by].ingress;
    has_room = memory.admit(ingress, group, bytes);
    if (memory.has_to_pause(ingress, group)) tell(now, held.came_by, group);
  } else if (has_room && is_from_switch(number)) {
    has_room = memory_at(direction.from).admit_lossy(queue_bytes, bytes);
  }
  if (has_room) return true;
  ++direction.overflowed;
  ++network_.statistics.overflowed;
  if (is_lossless) {
    ++network_.statistics.lossless_lost;
    network_.comment(frame, kHeadroomFull);
  }
  network_.end(now, number, frame, FrameEvent::overflowed);
  return false;
}

void NetworkQos::mark_behind_queue(DirectionNumber number, FrameNumber frame) {
  const LinkDirection& direction = network_.directions[number];
  if (!direction.marks || !network_.pool.info(frame).ecn_capable) return;
  const Duration waiting = direction.time_of(ports_[number].egress.octets_of(held_of(frame).traffic_class));
  if (waiting > direction.mark_above && direction.is_marked_behind(waiting, network_.mark_draw(number)))
    network_.mark(frame);
}

void NetworkQos::release(Time now, DirectionNumber number, FrameNumber frame) {
  if (network_.lanes) return network_.lanes->taken(now, frame);
  const Held held = held_of(frame);
  const std::uint32_t bytes = network_.pool.info(frame).bytes;
  SwitchMemory& memory = memory_at(network_.directions[number].from);
  if (!qos_.is_lossless(held.traffic_class)) {
    memory.release_lossy(bytes);
    return;
  }
  const TrafficClass group = qos_.pause_group(held.traffic_class);
  IngressPort& ingress = ports_[held.came_by].ingress;
  memory.release(ingress, group, bytes);
  if (ingress.groups[group].is_paused && memory.may_go_on(ingress, group)) tell(now, held.came_by, group);
}

void NetworkQos::lose(Time now, DirectionNumber number, FrameNumber frame, std::string_view why) {
  ++network_.directions[number].lost;
  ++network_.statistics.lost;
  if (qos_.is_lossless(held_of(frame).traffic_class)) ++network_.statistics.lossless_lost;
  network_.comment(frame, why);
  network_.end(now, number, frame, FrameEvent::lost);
}

void NetworkQos::serve(Time now, DirectionNumber number) {
  LinkDirection& direction = network_.directions[number];
  Port& port = ports_[number];
  watch_pauses(now, number);
  if (direction.has_lanes) network_.lanes->look_at_heads(now, number);
  while (direction.wire_free <= now) {
    if (port.to_tell != 0) {
      send_pause_frame(now, number);
      continue;
    }
    if (direction.has_lanes && network_.lanes->owes(now, number)) {
      network_.lanes->send_flow_control(now, number);
      continue;
    }
    const auto traffic_class =
        network_.subnet ? network_.subnet->choose(now, number, port.egress) : port.egress.choose(now, network_.pool);
    if (!traffic_class) break;
    const FrameNumber frame = port.egress.pop(now, *traffic_class, network_.pool);
    if (is_from_switch(number)) release(now, number, frame);
    if (direction.has_lanes) network_.lanes->leaves(now, number, *traffic_class, network_.pool.info(frame).bytes);
    if (network_.subnet) network_.subnet->leaves(number, frame);
    held_of(frame).came_by = number;
    network_.transmit(now, number, frame);
  }
  port.due = find_due(now, number);
  network_.schedule(number);
}

Time NetworkQos::find_due(Time now, DirectionNumber number) const {
  const Port& port = ports_[number];
  const Time free = std::max(now, network_.directions[number].wire_free);
  if (port.to_tell != 0) return free;
  if (network_.lanes)
    return std::min(std::max(free, port.egress.next_chance(free)), network_.lanes->due(now, number, free));
  return std::min({std::max(free, port.egress.next_chance(free)), port.refresh_at, watchdog_due(now, number)});
}

// -- Pauses

ClassMask NetworkQos::groups_to_pause(const Port& port) const {
  ClassMask groups = qos_.flow_control == FlowControl::pfc || port.storm == 0 ? port.storm : bit_of(0);
  const IngressPort& ingress = ports_[port.reverse].ingress;
  for (std::size_t i = 0; i < kTrafficClasses; ++i)
    if (ingress.groups[i].is_paused) groups |= bit_of(static_cast<TrafficClass>(i));
  return groups;
}

void NetworkQos::tell(Time now, DirectionNumber number, TrafficClass group) {
  Port& teller = ports_[ports_[number].reverse];
  IngressGroup& held = ports_[number].ingress.groups[group];
  const bool pauses = memory_at(network_.directions[number].to).has_to_pause(ports_[number].ingress, group);
  if (held.is_paused == pauses) return;
  held.is_paused = pauses;
  teller.to_tell |= bit_of(group);
  // It goes once its turn comes, not from within what is being done here.
  teller.due = std::max(now, network_.directions[ports_[number].reverse].wire_free);
  network_.schedule(ports_[number].reverse);
}

void NetworkQos::send_pause_frame(Time now, DirectionNumber number) {
  LinkDirection& direction = network_.directions[number];
  Port& port = ports_[number];
  const ClassMask groups = std::exchange(port.to_tell, ClassMask{0});
  const ClassMask paused = groups_to_pause(port);
  port.told_paused = paused;
  port.refresh_at = paused != 0 ? now + Duration{pause_time(qos_.pause_quanta, direction.rate).ns / 2} : kNever;
  if (!direction.is_up || network_.is_dead[direction.from] != 0) {
    port.refresh_at = kNever;
    return;
  }
  wire::PauseFrame pause{.source = port_mac(direction.from), .is_by_class = qos_.flow_control == FlowControl::pfc};
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const ClassMask bit = bit_of(static_cast<TrafficClass>(i));
    if (((groups | paused) & bit) == 0) continue;
    pause.classes |= bit;
    pause.quanta[i] = (paused & bit) != 0 ? qos_.pause_quanta : 0;
    ++port.statistics.sent[i];
  }
  const FrameNumber frame = network_.pool.take(wire::kPauseFrameBytes);
  if (frame == kNoFrame) {  // said again with the next refresh, or at once
    ++network_.statistics.overflowed;
    return;
  }
  ++network_.statistics.pause_frames;
  if (!is_from_switch(number) && network_.port_listener != nullptr)
    network_.port_listener->pause_sent(direction.from, pause.is_by_class ? pause.classes : kEveryClass);
  FrameInfo& info = network_.pool.info(frame);
  info = {};
  info.bytes = wire::kPauseFrameBytes;
  info.destination = kNeighbour;
  info.digest = static_cast<std::uint32_t>(pause.classes) << 8 | paused;
  wire::write_pause_frame(pause, network_.pool.octets(frame));
  network_.transmit(now, number, frame);
}

void NetworkQos::take_pause_frame(Time now, DirectionNumber number, FrameNumber frame) {
  const auto pause = wire::parse_pause_frame(network_.pool.octets(frame).first(network_.pool.info(frame).bytes));
  const DirectionNumber back = ports_[number].reverse;
  if (!pause || back == kNoDirection) return;
  Port& port = ports_[back];
  ++port.statistics.frames_received;
  const std::uint64_t rate = network_.directions[back].rate;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    if ((pause->classes & bit_of(traffic_class)) == 0) continue;
    ++port.statistics.received[i];
    if (pause->quanta[i] != 0) port.last_pause[i] = now;
    const Time from = pause->quanta[i] != 0 ? now + qos_.reaction : now;
    port.egress.pause(now, bit_of(traffic_class), from, now + pause_time(pause->quanta[i], rate));
  }
  serve(now, back);
  if (!is_from_switch(back) && network_.port_listener != nullptr)
    network_.port_listener->room_changed(network_.directions[back].from);
}

void NetworkQos::set_pause_storm(Time now, DirectionNumber way_out, ClassMask classes) {
  Port& port = ports_[way_out];
  if (network_.lanes) return network_.lanes->withhold(now, way_out, classes);
  const ClassMask before = groups_to_pause(port);
  port.storm = classes;
  port.to_tell = static_cast<ClassMask>(port.to_tell | (before ^ groups_to_pause(port)));
  serve(now, way_out);
}

// -- The watchdog

void NetworkQos::watch_pauses(Time now, DirectionNumber number) {
  Port& port = ports_[number];
  if (now >= port.refresh_at) {
    port.to_tell |= port.told_paused;
    port.refresh_at = kNever;
    look_for_deadlock(now);
  }
  if (qos_.watchdog.detect.ns == 0 || !is_from_switch(number)) return;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    if ((port.given_up & bit_of(traffic_class)) != 0) {
      if (now < port.last_pause[i] + qos_.watchdog.restore || port.egress.is_asked_to_pause(now, traffic_class))
        continue;
      port.given_up &= static_cast<ClassMask>(~bit_of(traffic_class));
      port.egress.ignore_pause(traffic_class, false);
    } else if (const Time since = port.egress.stuck_since(now, traffic_class);
               since != kNever && now >= since + qos_.watchdog.detect) {
      give_up(now, number, traffic_class);
    }
  }
}

void NetworkQos::give_up(Time now, DirectionNumber number, TrafficClass traffic_class) {
  Port& port = ports_[number];
  port.given_up |= bit_of(traffic_class);
  ++network_.statistics.pause_storms;
  if (!qos_.watchdog.drops) {
    port.egress.ignore_pause(traffic_class, true);
    return;
  }
  while (port.egress.frames_of(traffic_class) != 0) {
    const FrameNumber frame = port.egress.pop(now, traffic_class, network_.pool);
    release(now, number, frame);
    lose(now, number, frame, kGivenUp);
  }
}

Time NetworkQos::watchdog_due(Time now, DirectionNumber number) const {
  if (qos_.watchdog.detect.ns == 0 || !is_from_switch(number)) return kNever;
  const Port& port = ports_[number];
  Time earliest = kNever;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    if ((port.given_up & bit_of(traffic_class)) != 0) {
      const Time over = port.last_pause[i] + qos_.watchdog.restore;
      earliest = std::min(earliest, std::max(over, port.egress.paused_until(traffic_class)));
    } else if (const Time since = port.egress.stuck_since(now, traffic_class); since != kNever) {
      earliest = std::min(earliest, since + qos_.watchdog.detect);
    }
  }
  return earliest;
}

void NetworkQos::look_for_deadlock(Time now) {
  if (deadlock_ || now < next_deadlock_look_) return;
  next_deadlock_look_ = now + kDeadlockInterval;
  deadlock_ = DeadlockSearch(*this, now).find();
}

// -- What changes

void NetworkQos::lose_all(Time now, DirectionNumber number) {
  Port& port = ports_[number];
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    while (port.egress.frames_of(traffic_class) != 0) {
      const FrameNumber frame = port.egress.pop(now, traffic_class, network_.pool);
      if (is_from_switch(number)) release(now, number, frame);
      if (network_.subnet) network_.subnet->is_discarded(number, &PortTraffic::sent_inactive_discards);
      network_.end(now, number, frame, FrameEvent::vanished);
    }
  }
  port.egress.forget_pauses(now);
  if (network_.lanes) network_.lanes->link_is_down(number);
  port.to_tell = port.told_paused = 0;
  port.refresh_at = kNever;
  port.due = find_due(now, number);
}

void NetworkQos::forget_pauses_of(Time now, std::uint32_t vertex) {
  for (DirectionNumber number = 0; number < ports_.size(); ++number) {
    if (network_.directions[number].to != vertex || network_.directions[number].is_loopback) continue;
    if (network_.lanes) {
      lose_all(now, number);
      continue;
    }
    ports_[number].egress.forget_pauses(now);
    serve(now, number);
  }
}

void NetworkQos::link_is_up(Time now, DirectionNumber number) {
  if (network_.lanes) return network_.lanes->link_is_up(now, number);
  ports_[number].to_tell = groups_to_pause(ports_[number]);
  serve(now, number);
}

// -- What hosts ask

Time NetworkQos::has_room_at(Time now, DirectionNumber way, std::uint8_t ip_traffic_class) const {
  const TrafficClass traffic_class = qos_.class_of_octet(ip_traffic_class);
  const EgressPort& egress = ports_[way].egress;
  if (leads_nowhere(network_, way)) return network_.directions[way].has_room_at(now);
  if (egress.frames_of(traffic_class) < kHostQueueFrames) return now;
  if (egress.is_paused(now, traffic_class)) return std::max(egress.paused_until(traffic_class), now + nanoseconds(1));
  return std::max(network_.directions[way].wire_free, now + nanoseconds(1));
}

Room NetworkQos::room(Time now, DirectionNumber way, ClassMask held) const {
  const EgressPort& egress = ports_[way].egress;
  Room room{kHostQueueFrames, now};
  if (leads_nowhere(network_, way)) {
    room.more_at = network_.directions[way].has_room_at(now);
    room.octets = room.more_at > now ? 0 : kHostQueueFrames * wire::kFrameBytesMax;
    return room;
  }
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic_class = static_cast<TrafficClass>(i);
    const std::uint32_t frames = egress.frames_of(traffic_class);
    const ClassMask bit = bit_of(traffic_class);
    if (frames >= kHostQueueFrames && ((held & bit) != 0 || egress.is_paused(now, traffic_class))) room.held |= bit;
    if ((room.held & bit) != 0 && frames < kHeldClassFramesMax) continue;
    room.octets = std::min(room.octets, kHostQueueFrames - std::min(frames, kHostQueueFrames));
    if (frames < kHostQueueFrames) continue;
    const Time at =
        egress.is_paused(now, traffic_class) ? egress.paused_until(traffic_class) : network_.directions[way].wire_free;
    room.more_at = std::max({room.more_at, at, now + nanoseconds(1)});
  }
  room.octets *= wire::kFrameBytesMax;
  return room;
}

PauseStatistics NetworkQos::pause_statistics(Time now, DirectionNumber number) const {
  PauseStatistics statistics = ports_[number].statistics;
  const EgressPort& egress = ports_[number].egress;
  statistics.paused_now = egress.paused(now);
  for (std::size_t i = 0; i < kTrafficClasses; ++i)
    statistics.paused[i] = egress.time_paused(now, static_cast<TrafficClass>(i));
  return statistics;
}

}  // namespace verbena::fabric
