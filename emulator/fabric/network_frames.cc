// The way of a frame: into the queue of a direction, over the wire, to the next switch or to a host.
// Tested by: tests/fabric/network_test.cc
#include <algorithm>
#include <cstring>

#include "emulator/fabric/alter_frame.h"
#include "emulator/fabric/chance.h"
#include "emulator/fabric/flow_dissector.h"
#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/network_qos.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/subnet_forwarding.h"
#include "emulator/fabric/telemetry_stamp.h"
#include "wire/assert.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"
#include "wire/pause_frame.h"

namespace verbena::fabric {
namespace {

constexpr std::uint64_t kMarkDraw = 0xec;  // apart from the draws of the same frame for other things

}  // namespace

bool Network::State::find_destination(Time now, std::uint32_t host, FrameNumber frame,
                                      std::span<const std::byte> octets) {
  FrameInfo& info = pool.info(frame);
  const std::span<std::byte> stored = pool.octets(frame);
  const bool is_whole = info.bytes <= stored.size();
  const bool way_only = is_whole && !options.trace && topology.medium == wire::Medium::ethernet;
  const FlowKey key = way_only ? FlowKey(octets.first(info.bytes)) : FlowKey();
  if (key.is_known() && key == last_flow.key) {
    info.destination = last_flow.destination;
    info.flow_hash = last_flow.flow_hash;
    info.ecn_capable = last_flow.ecn_capable;
    return true;
  }
  const FlowDissector look = look_at(octets.first(stored.size()), info.bytes, options.trace, topology.medium);
  info.has_long_headers = look.header_bytes > kShortBytes;
  if (octets.data() != stored.data())
    std::memcpy(stored.data(), octets.data(), info.has_long_headers ? kStoredBytes : kShortBytes);
  info.ecn_capable = look.ecn_capable;
  info.flow_hash = look.flow_hash;
  info.digest = look.digest;
  if (!look.is_known) {
    // From a program with a raw socket, say.
    if (qos && wire::parse_pause_frame(octets.first(std::min<std::size_t>(info.bytes, octets.size()))))
      info.destination = kNeighbour;
    return true;
  }
  if (look.destination.is_multicast() && port_listener != nullptr)
    port_listener->sent_to_group(host, octets.first(std::min<std::size_t>(info.bytes, octets.size())), info.icrc);
  if (subnet) {
    info.destination = subnet->enter(host, frame);
    return true;
  }
  info.destination = addresses.find(look.destination);
  if (info.destination == kNoHost && look.destination.is_multicast() && !tree->ways(host).empty()) {
    info.destination = kEveryHost;
    show(now, tree->ways(host).front().direction, frame, FrameEvent::entered);
    flood(now, host, kNoHost, frame);
    return false;
  }
  if (key.is_known()) last_flow = {key, info.destination, info.flow_hash, info.ecn_capable};
  return true;
}

[[gnu::flatten]] void Network::State::enter(Time now, std::uint32_t host, FrameNumber frame,
                                            std::span<const std::byte> octets) {
  if (!find_destination(now, host, frame, octets)) return;
  FrameInfo& info = pool.info(frame);
  if (topology.spreading == Spreading::packet)
    info.flow_hash = static_cast<std::uint32_t>(mix(info.flow_hash ^ ++sprayed << 32));
  DirectionNumber way = single_way[host];
  const bool has_destination = info.destination != kNoHost;
  if (info.destination == host) {
    way = loopbacks[host];
  } else if (way == kNoDirection) {
    // Nobody's frames have to go somewhere: out of the first cable, if there is one.
    way = has_destination && info.destination < kNeighbour ? routing->first(host, info.destination) : kNoDirection;
    if (way == kNoDirection) way = loopbacks[host];
  }
  const bool is_cut =
      !cut_pairs.empty() && has_destination && cut_pairs.contains(std::uint64_t{host} << 32 | info.destination);
  show(now, way, frame, FrameEvent::entered);
  if (has_destination && !is_cut) {
    enqueue(now, way, frame);
    return;
  }
  // It takes its time on the wire all the same, so that a sender without a window does not send for ever at once.
  LinkDirection& direction = directions[way];
  direction.wire_free = std::max(direction.wire_free, now) + direction.time_for(info.bytes);
  end(now, way, frame, FrameEvent::vanished);
}

void Network::State::enqueue(Time now, DirectionNumber number, FrameNumber frame) {
  LinkDirection& direction = directions[number];
  const FrameInfo& info = pool.info(frame);
  const Duration wire_time = direction.time_for(info.bytes);
  const Duration waiting = direction.backlog(now);
  const bool fits = waiting.ns == 0 || waiting + wire_time <= direction.queue_max;
  if (direction.is_plain && fits && info.bytes <= direction.frame_bytes_max)
    depart(now, number, frame, wire_time, direction.propagation);
  else
    enqueue_with_care(now, number, frame);
}

void Network::State::enqueue_with_care(Time now, DirectionNumber number, FrameNumber frame) {
  LinkDirection& direction = directions[number];
  if (direction.has_classes) {
    qos->enqueue(now, number, frame);
    return;
  }
  FrameInfo& info = pool.info(frame);
  const Duration waiting = direction.backlog(now);
  if (waiting.ns > 0 && waiting + direction.time_for(info.bytes) > direction.queue_max) {
    ++direction.overflowed;
    ++statistics.overflowed;
    end(now, number, frame, FrameEvent::overflowed);
    return;
  }
  if (direction.marks && info.ecn_capable && waiting > direction.mark_above &&
      direction.is_marked_behind(waiting, mark_draw(number)))
    mark(frame);
  if (!direction.is_up || info.bytes > direction.frame_bytes_max) {
    direction.wire_free = now + waiting + direction.time_for(info.bytes);
    end(now, number, frame, FrameEvent::vanished);
  } else {
    transmit(now, number, frame);
  }
}

void Network::State::transmit(Time now, DirectionNumber number, FrameNumber frame) {
  if (directions[number].stamps) stamp(now, number, frame);
  if (const auto& faults = directions[number].faults; faults && faults->decides())
    judge_and_launch(now, number, frame);
  else
    launch(now, number, frame, {});
}

std::uint64_t Network::State::mark_draw(DirectionNumber number) const {
  return mix_all({options.seed, number, directions[number].frames, kMarkDraw});
}

/// The octets of a frame that was marked are its own from then on as before: only the wire's header checksum knows.
void Network::State::mark(FrameNumber frame) {
  FrameInfo& info = pool.info(frame);
  info.ecn_capable = false;
  ++statistics.marked;
  mark_congestion(pool.octets(frame));
}

void Network::State::stamp(Time now, DirectionNumber number, FrameNumber frame) {
  const LinkDirection& direction = directions[number];
  const std::uint64_t waiting = direction.has_classes ? qos->egress(number).octets() : 0;
  stamp_telemetry(pool.octets(frame), {.port = number,
                                       .rate_bits_per_second = direction.rate,
                                       .time = std::max(direction.wire_free, now),
                                       .sent_octets = direction.octets,
                                       .queue_octets = direction.octets_of(direction.backlog(now)) + waiting});
}

namespace {
/// What a network lends to the carrier of one direction's faults.
struct Way {
  Network::State& network;
  LinkDirection& direction;
  DirectionNumber number;

  FaultCounters& counters() { return direction.faults->counters; }
  FrameNumber copy(FrameNumber frame) { return network.copy(frame); }
  void damage(FrameNumber frame, const FaultVerdict& verdict) { network.damage(frame, verdict); }
  void send(Time sent, Duration extra, FrameNumber frame) { network.launch(sent, number, frame, extra); }
};
}  // namespace

FaultVerdict Network::State::judge(Time now, DirectionNumber number, FrameNumber frame) {
  const LinkDirection& direction = directions[number];
  DirectionFaults& faults = *direction.faults;
  Interceptor::Decision decision;
  FrameInfo& info = pool.info(frame);
  if (faults.interceptor != nullptr) {
    complete(frame);
    const std::span<std::byte> octets = pool.octets(frame).first(info.bytes);
    decision = faults.interceptor->intercept(now, direction.link, octets);
    if (decision.has_changed) {
      info.corrupted = true;
      info.icrc = wire::IcrcState::present;
      info.digest = look_at(octets, info.bytes, options.trace, topology.medium).digest;
    }
  }
  FaultVerdict verdict;
  const bool has_rules = !faults.plan.empty();
  if (!decision.drop && (has_rules || faults.watcher != nullptr))
    if (const auto packet = wire::parse_on(topology.medium, view(frame)); packet) {
      if (has_rules) verdict = faults.plan.judge(*packet);
      if (faults.watcher != nullptr)
        faults.watcher->judged(direction.link, *packet,
                               has_rules ? faults.plan.struck() : std::span<const std::uint32_t>{});
    }
  verdict.drop = verdict.drop || decision.drop;
  if (decision.duplicate) verdict.copies = std::max(verdict.copies, std::uint32_t{1});
  verdict.delay = verdict.delay + decision.delay;
  const std::string_view comment = verdict.comment.empty() ? std::string_view(decision.comment) : verdict.comment;
  if (!comment.empty()) info.comment = comment_number(comment);
  return verdict;
}

void Network::State::judge_and_launch(Time now, DirectionNumber number, FrameNumber frame) {
  LinkDirection& direction = directions[number];
  const FaultVerdict verdict = judge(now, number, frame);
  if (!verdict.drop) {
    direction.faults->carrier.carry_out(now, frame, verdict, Way{*this, direction, number});
    schedule(number);
    return;
  }
  ++direction.lost;
  ++statistics.lost;
  // Lost on the wire: it was sent.
  const Time start = std::max(direction.wire_free, now);
  direction.wire_free = start + direction.time_for(pool.info(frame).bytes);
  end(start, number, frame, FrameEvent::lost);
}

void Network::State::occupy_wire(Time now, DirectionNumber number, FrameNumber frame, Duration wire_time) {
  LinkDirection& direction = directions[number];
  const FrameInfo& info = pool.info(frame);
  const Time start = std::max(direction.wire_free, now);
  direction.wire_free = start + wire_time;
  direction.backlog_max = std::max(direction.backlog_max, direction.wire_free - now);
  ++direction.frames;
  direction.octets += info.bytes;
  note(start, number, info, FrameEvent::sent);
  show(start, number, frame, FrameEvent::sent);
}

void Network::State::depart(Time now, DirectionNumber number, FrameNumber frame, Duration wire_time, Duration flight) {
  occupy_wire(now, number, frame, wire_time);
  LinkDirection& direction = directions[number];
  FrameInfo& info = pool.info(frame);
  info.due = direction.last_due = std::max(direction.last_due, direction.wire_free + flight);
  info.next = kNoFrame;
  if (direction.head == kNoFrame) {
    direction.head = direction.tail = frame;
    schedule(number);
  } else {
    pool.info(direction.tail).next = frame;
    direction.tail = frame;
  }
}

void Network::State::launch(Time now, DirectionNumber number, FrameNumber frame, Duration extra) {
  LinkDirection& direction = directions[number];
  FrameInfo& info = pool.info(frame);
  Duration flight = direction.propagation;
  if (direction.jitter.ns > 0) {
    const std::uint64_t draw = mix_all({options.seed, number, direction.frames + 1});
    flight = flight + Duration{static_cast<std::int64_t>(draw % (static_cast<std::uint64_t>(direction.jitter.ns) + 1))};
  }
  const Duration wire_time = direction.time_for(info.bytes);
  if (direction.has_lanes) flight = flight - lanes->time_saved(number, wire_time);
  if (extra.ns <= 0) {
    depart(now, number, frame, wire_time, flight);
    return;
  }
  occupy_wire(now, number, frame, wire_time);
  DirectionFaults& faults = *direction.faults;
  info.due = direction.wire_free + flight + extra;
  faults.strays.push_back({info.due, faults.next_sequence++, frame});
  std::push_heap(faults.strays.begin(), faults.strays.end());
  schedule(number);
}

void Network::State::schedule(DirectionNumber number) {
  const LinkDirection& direction = directions[number];
  Time next = direction.head != kNoFrame ? pool.info(direction.head).due : kNever;
  if (!direction.is_plain) next = std::min(next, next_with_care(number));
  queue.set(number, next);
}

Time Network::State::next_with_care(DirectionNumber number) const {
  const LinkDirection& direction = directions[number];
  Time next = direction.has_classes ? qos->due(number) : kNever;
  if (!direction.faults) return next;
  if (!direction.faults->strays.empty()) next = std::min(next, direction.faults->strays.front().due);
  return std::min(next, direction.faults->carrier.earliest());
}

[[gnu::flatten]] void Network::State::run_direction(Time now, Time until, DirectionNumber number, Sink& sink) {
  LinkDirection& direction = directions[number];
  const bool to_host = topology.is_host(direction.to);
  while (direction.head != kNoFrame) {
    const FrameNumber frame = direction.head;
    const FrameInfo& info = pool.info(frame);
    if (info.due > until) break;
    direction.head = info.next;
    if (direction.head != kNoFrame) {
      __builtin_prefetch(&pool.info(direction.head));
      if (to_host) pool.prefetch_octets(direction.head);
    }
    arrive(std::max(now, info.due), number, frame, sink);
  }
  if (!direction.is_plain) run_with_care(now, number, sink);
  schedule(number);
}

void Network::State::run_with_care(Time now, DirectionNumber number, Sink& sink) {
  LinkDirection& direction = directions[number];
  if (direction.faults) {
    DirectionFaults& faults = *direction.faults;
    while (!faults.strays.empty() && faults.strays.front().due <= now) {
      const FrameNumber frame = faults.strays.front().frame;
      std::pop_heap(faults.strays.begin(), faults.strays.end());
      faults.strays.pop_back();
      arrive(now, number, frame, sink);
    }
    faults.carrier.release_expired(now, Way{*this, direction, number});
  }
  if (direction.has_classes) qos->serve(now, number);
}

void Network::State::arrive(Time now, DirectionNumber number, FrameNumber frame, Sink& sink) {
  const LinkDirection& direction = directions[number];
  const FrameInfo& info = pool.info(frame);
  ++statistics.arrivals;
  if (info.destination >= kBySubnet) {
    arrive_specially(now, number, frame, sink);
    return;
  }
  if (direction.has_lanes) lanes->arrived(number, frame);
  if (!topology.is_host(direction.to)) {
    const DirectionNumber next =
        is_dead[direction.to] ? kNoDirection : routing->next(direction.to, info.destination, info.flow_hash);
    if (next == kNoDirection) {
      if (direction.has_lanes) lanes->taken(now, frame);
      end(now, number, frame, FrameEvent::vanished);
      return;
    }
    note(now, number, info, FrameEvent::delivered);
    show(now, number, frame, FrameEvent::delivered);
    enqueue(now, next, frame);
    return;
  }
  ++statistics.host_arrivals;
  if (direction.has_lanes) lanes->taken(now, frame);
  const bool is_taken = sink.arrived({now, direction.to, view(frame), info.corrupted, info.icrc});
  end(now, number, frame, is_taken ? FrameEvent::delivered : FrameEvent::vanished);
}

void Network::State::arrive_specially(Time now, DirectionNumber number, FrameNumber frame, Sink& sink) {
  if (pool.info(frame).destination == kBySubnet) {
    subnet->arrive(now, number, frame, sink);
    return;
  }
  if (pool.info(frame).destination == kEveryHost) {
    arrive_for_group(now, number, frame, sink);
    return;
  }
  const LinkDirection& direction = directions[number];
  const std::uint32_t to = direction.to;
  if (is_dead[to] != 0) {
    end(now, number, frame, FrameEvent::vanished);
    return;
  }
  // It is seen before what it lets go.
  note(now, number, pool.info(frame), FrameEvent::delivered);
  show(now, number, frame, FrameEvent::delivered);
  if (direction.has_lanes)
    lanes->take_flow_control(now, number, frame);
  else if (qos)
    qos->take_pause_frame(now, number, frame);
  if (topology.is_host(to)) sink.arrived({now, to, view(frame), false, wire::IcrcState::present});
  pool.give_back(frame);
}

void Network::State::end(Time now, DirectionNumber number, FrameNumber frame, FrameEvent event) {
  if (event == FrameEvent::vanished) ++statistics.vanished;
  note(now, number, pool.info(frame), event);
  show(now, number, frame, event);
  pool.give_back(frame);
}

std::span<const std::byte> Network::State::view(FrameNumber frame) {
  const std::size_t bytes = pool.info(frame).bytes;
  const std::span<const std::byte> stored = pool.octets(frame);
  if (bytes <= stored.size()) return stored.first(bytes);
  std::memcpy(view_scratch.data(), stored.data(), pool.info(frame).has_long_headers ? kStoredBytes : kShortBytes);
  return std::span(view_scratch).first(bytes);
}

void Network::State::complete(FrameNumber frame) {
  FrameInfo& info = pool.info(frame);
  if (info.icrc != wire::IcrcState::deferred) return;
  wire::complete_icrc(pool.octets(frame).first(info.bytes), topology.medium);
  info.icrc = wire::IcrcState::present;
}

void Network::State::damage(FrameNumber frame, const FaultVerdict& verdict) {
  if (verdict.flip_bit || verdict.truncate_to) complete(frame);
  FrameInfo& info = pool.info(frame);
  const std::span<std::byte> stored = pool.octets(frame);
  const std::uint32_t bit = verdict.flip_bit.value_or(0);
  if (verdict.flip_bit) {
    info.digest ^= static_cast<std::uint32_t>(mix(bit));
    if (!verdict.repair_icrc || bit / 8 >= info.bytes - wire::kIcrcBytes) info.icrc = wire::IcrcState::present;
  }
  if (verdict.mark) mark(frame);
  FaultVerdict rest = verdict;
  rest.mark = false;
  if (info.bytes <= stored.size()) {
    const AlteredFrame altered = alter_frame(stored.first(info.bytes), rest, topology.medium);
    info.corrupted = info.corrupted || altered.corrupted;
    if (altered.bytes != info.bytes) info.icrc = wire::IcrcState::present;
    info.bytes = static_cast<decltype(info.bytes)>(altered.bytes);
    return;
  }
  // Without payload: what is not stored cannot be changed, only be said to be wrong.
  if (verdict.flip_bit && bit / 8 < stored.size()) stored[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  info.corrupted = info.corrupted || verdict.flip_bit || verdict.truncate_to;
  if (verdict.truncate_to && *verdict.truncate_to < info.bytes) {
    info.icrc = wire::IcrcState::present;
    info.bytes = static_cast<decltype(info.bytes)>(*verdict.truncate_to);
  }
}

FrameNumber Network::State::copy(FrameNumber frame) {
  const FrameNumber made = pool.take(pool.info(frame).bytes);
  if (made == kNoFrame) return kNoFrame;
  pool.info(made) = pool.info(frame);
  const std::span<const std::byte> from = pool.octets(frame);
  std::memcpy(pool.octets(made).data(), from.data(), std::min<std::size_t>(from.size(), pool.info(frame).bytes));
  if (qos) qos->copied(frame, made);
  return made;
}

void Network::State::show_to_observer(Time time, DirectionNumber number, FrameNumber frame, FrameEvent event) {
  const LinkDirection& direction = directions[number];
  if (direction.is_loopback) return;
  complete(frame);
  const FrameInfo& info = pool.info(frame);
  observer->observe({time, direction.link, event, view(frame), comment_texts[info.comment], info.corrupted});
}

std::uint16_t Network::State::comment_number(std::string_view comment) {
  const auto found = comment_numbers.find(comment);
  if (found != comment_numbers.end()) return found->second;
  if (comment_texts.size() > UINT16_MAX) return 0;
  const auto number = static_cast<std::uint16_t>(comment_texts.size());
  comment_texts.emplace_back(comment);
  comment_numbers.emplace(comment_texts.back(), number);
  return number;
}

}  // namespace verbena::fabric
