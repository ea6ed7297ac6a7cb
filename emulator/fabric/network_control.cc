#include "emulator/fabric/network_control.h"

#include <algorithm>

#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/network_qos.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/subnet_forwarding.h"
#include "wire/assert.h"

namespace verbena::fabric {
namespace {

std::string direction_name(const Topology& topology, LinkId link) {
  const Cable& cable = topology.cables[link.cable];
  const std::string& a = topology.vertices[cable.a].name;
  const std::string& b = topology.vertices[cable.b].name;
  return link.backward ? b + ">" + a : a + ">" + b;
}

Duration time_saved(const Network::State& network, DirectionNumber number, Duration wire_time) {
  return network.lanes ? network.lanes->time_saved(number, wire_time) : Duration{};
}

}  // namespace

DirectionFaults& NetworkControl::faults_of(LinkId link) {
  LinkDirection& direction = state_.directions[state_.direction_of(link)];
  if (!direction.faults) {
    FaultPlan plan({}, state_.options.seed, direction_name(state_.topology, link));
    direction.faults = std::make_unique<DirectionFaults>(DirectionFaults{std::move(plan), {}, {}, {}, 0});
    direction.find_plain();
  }
  return *direction.faults;
}

void NetworkControl::set_faults(LinkId link, const std::vector<FaultRule>& rules) {
  const LinkDirection& direction = state_.directions[state_.direction_of(link)];
  // Frames that the earlier rules hold stay held: they leave when their time is up.
  if (direction.faults || !rules.empty()) faults_of(link).plan.replace(rules);
}

void NetworkControl::intercept(LinkId link, Interceptor* interceptor) {
  VERBENA_ASSERT(state_.options.payload);
  const LinkDirection& direction = state_.directions[state_.direction_of(link)];
  if (direction.faults || interceptor != nullptr) faults_of(link).interceptor = interceptor;
}

void NetworkControl::watch_faults(LinkId link, FaultWatcher* watcher) {
  const LinkDirection& direction = state_.directions[state_.direction_of(link)];
  if (direction.faults || watcher != nullptr) faults_of(link).watcher = watcher;
}

RuleCounters NetworkControl::rule_counters(LinkId link, std::size_t rule) const {
  const LinkDirection& direction = state_.directions[state_.direction_of(link)];
  if (direction.faults == nullptr || rule >= direction.faults->plan.rules()) return {};
  return direction.faults->plan.counters(rule);
}

void NetworkControl::set_link_up(Time now, LinkId link, bool up) {
  const DirectionNumber number = state_.direction_of(link);
  LinkDirection& direction = state_.directions[number];
  if (direction.is_up == up) return;
  direction.is_up = up;
  direction.find_plain();
  if (!up) state_.lose_all(now, number, true);
  if (up && direction.has_classes) state_.qos->link_is_up(now, number);
  if (state_.subnet) state_.subnet->signal_changes(link.cable);
  state_.expect_change(now, false, number, up);
  const Cable& ends = state_.topology.cables[link.cable];
  state_.update_port(ends.a);
  state_.update_port(ends.b);
}

void NetworkControl::set_switch_up(Time now, std::uint32_t vertex, bool up) {
  VERBENA_ASSERT(vertex < state_.topology.vertices.size() && !state_.topology.is_host(vertex));
  if ((state_.is_dead[vertex] == 0) == up) return;
  state_.is_dead[vertex] = up ? 0 : 1;
  if (!up)
    for (DirectionNumber number = 0; number < state_.directions.size(); ++number)
      if (state_.directions[number].from == vertex) state_.lose_all(now, number, false);
  if (!up && state_.qos) state_.qos->forget_pauses_of(now, vertex);
  if (up && state_.lanes) state_.lanes->switch_is_up(now, vertex);
  if (state_.subnet)
    for (const std::uint32_t cable : state_.topology.cables_of(vertex)) state_.subnet->signal_changes(cable);
  state_.expect_change(now, true, vertex, up);
  for (const LinkDirection& direction : state_.directions)
    if (direction.from == vertex) state_.update_port(direction.to);
}

bool Network::port_is_up(std::uint32_t host) const {
  VERBENA_ASSERT(host < state_->topology.hosts);
  return state_->port_up[host];
}

void Network::watch_ports(PortListener* listener) {
  state_->port_listener = listener;
}

bool Network::State::has_signal(std::uint32_t cable) const {
  const Cable& ends = topology.cables[cable];
  return (directions[direction_of({cable, false})].is_up || directions[direction_of({cable, true})].is_up) &&
         is_dead[ends.a] == 0 && is_dead[ends.b] == 0;
}

void Network::State::update_port(std::uint32_t vertex) {
  if (!topology.is_host(vertex)) return;
  const bool up = std::any_of(ways_out[vertex].begin(), ways_out[vertex].end(),
                              [&](DirectionNumber way) { return has_signal(directions[way].link.cable); });
  if (port_up[vertex] == up) return;
  port_up[vertex] = up;
  if (port_listener != nullptr) port_listener->port_changed(vertex, up);
}

void NetworkControl::set_pause_storm(Time now, std::uint32_t host, ClassMask classes) {
  VERBENA_ASSERT(state_.qos != nullptr && host < state_.topology.hosts);
  for (const DirectionNumber way : state_.ways_out[host]) state_.qos->set_pause_storm(now, way, classes);
}

void NetworkControl::set_partition(std::uint32_t from, std::uint32_t to, bool cut) {
  VERBENA_ASSERT(from < state_.topology.hosts && to < state_.topology.hosts);
  const std::uint64_t pair = std::uint64_t{from} << 32 | to;
  if (cut)
    state_.cut_pairs.insert(pair);
  else
    state_.cut_pairs.erase(pair);
}

void NetworkControl::set_link_delay(LinkId link, Duration propagation, Duration jitter) {
  VERBENA_ASSERT(propagation.ns >= 0 && jitter.ns >= 0);
  LinkDirection& direction = state_.directions[state_.direction_of(link)];
  direction.propagation = propagation;
  direction.jitter = jitter;
  direction.find_plain();
}

void NetworkControl::set_link_rate(Time now, LinkId link, std::uint64_t bits_per_second) {
  const DirectionNumber number = state_.direction_of(link);
  LinkDirection& direction = state_.directions[number];
  // When each of those in the queue was to begin follows from when it was to arrive; jitter made some a little late.
  std::vector<std::pair<FrameNumber, Time>> queued;
  for (FrameNumber frame = direction.head; frame != kNoFrame; frame = state_.pool.info(frame).next) {
    const FrameInfo& info = state_.pool.info(frame);
    const Duration wire_time = direction.time_of(info.bytes);
    const Duration taken = direction.propagation + wire_time - time_saved(state_, number, wire_time);
    if (info.due - now >= taken) queued.emplace_back(frame, Time{info.due.ns - taken.ns});
  }
  const Duration propagation = direction.propagation;
  direction.set_rate(bits_per_second);
  if (state_.lanes) state_.lanes->find_cuts_through();
  if (!queued.empty()) {
    direction.wire_free = queued.front().second;
    direction.last_due = {};
    for (FrameNumber frame = direction.head; frame != queued.front().first; frame = state_.pool.info(frame).next)
      direction.last_due = state_.pool.info(frame).due;
    for (const auto& [frame, start] : queued) {
      FrameInfo& info = state_.pool.info(frame);
      const Duration wire_time = direction.time_for(info.bytes);
      direction.wire_free = direction.wire_free + wire_time;
      const Time heard = direction.wire_free + propagation - time_saved(state_, number, wire_time);
      info.due = direction.last_due = std::max(direction.last_due, heard);
    }
  }
  state_.schedule(number);
}

void Network::State::lose_all(Time now, DirectionNumber number, bool also_on_the_wire) {
  LinkDirection& direction = directions[number];
  FrameNumber frame = direction.head;
  FrameNumber last_kept = kNoFrame;
  while (frame != kNoFrame && !also_on_the_wire && pool.info(frame).due <= now + direction.propagation) {
    last_kept = frame;
    frame = pool.info(frame).next;
  }
  (last_kept != kNoFrame ? pool.info(last_kept).next : direction.head) = kNoFrame;
  direction.tail = last_kept;
  while (frame != kNoFrame) {
    const FrameNumber next = pool.info(frame).next;
    end(now, number, frame, FrameEvent::vanished);
    frame = next;
  }
  if (direction.faults) {
    DirectionFaults& faults = *direction.faults;
    if (also_on_the_wire) {
      std::sort_heap(faults.strays.begin(), faults.strays.end());
      for (const DirectionFaults::Stray& stray : faults.strays) end(now, number, stray.frame, FrameEvent::vanished);
      faults.strays.clear();
    }
    faults.carrier.clear([&](FrameNumber held) { end(now, number, held, FrameEvent::vanished); });
  }
  if (direction.has_classes) qos->lose_all(now, number);
  direction.wire_free = now;
  direction.last_due = last_kept != kNoFrame ? pool.info(last_kept).due : Time{};
  schedule(number);
}

void Network::State::expect_change(Time now, bool is_switch, std::uint32_t index, bool up) {
  const std::uint32_t epoch = ++(is_switch ? switch_epochs : link_epochs)[index];
  changes.push_back({now + options.detection, is_switch, index, up, epoch});
}

void Network::State::apply_changes(Time now) {
  bool has_changed = false;
  for (; !changes.empty() && changes.front().due <= now; changes.pop_front()) {
    const Change& change = changes.front();
    // A change that did not last is not noticed.
    if (change.epoch != (change.is_switch ? switch_epochs : link_epochs)[change.index]) continue;
    (change.is_switch ? switch_believed_up : link_believed_up)[change.index] = change.up;
    has_changed = true;
  }
  ++statistics.events;
  if (has_changed) rebuild_routes();
}

void Network::State::rebuild_routes() {
  std::vector<bool> alive(directions.size());
  for (DirectionNumber number = 0; number < directions.size(); ++number) {
    const LinkDirection& direction = directions[number];
    alive[number] = link_believed_up[number] && switch_believed_up[direction.from] && switch_believed_up[direction.to];
  }
  routing->rebuild(alive);
  tree->rebuild(alive);
}

}  // namespace verbena::fabric
