#include "emulator/subnet/subnet.h"

#include <algorithm>
#include <utility>

#include "emulator/subnet/agent_performance.h"
#include "emulator/subnet/agent_subnet.h"
#include "emulator/subnet/smp.h"

namespace verbena::subnet {
namespace {

constexpr unsigned kHopsOfRoute = 64;                         // of one that is routed by tables, which may have a loop
constexpr std::uint64_t kWordsAround = (8 + 12 + 8 + 4) / 4;  // LRH, BTH, DETH, ICRC

std::uint64_t words_of(const Datagram& datagram) {
  return kWordsAround + (datagram.octets.size() + 3) / 4;
}

bool is_subnet_management(const Datagram& datagram) {
  return datagram.destination_qp == wire::kSmiQpn;
}

/// What a port says of itself where neither an agent nor a program has taken a request, as the kernel does (ib_mad):
/// the combination of method and attribute is not supported (13.4.7).
std::optional<Datagram> refusal_of(const Datagram& request) {
  wire::AnyMadHeader header = Smp(request.octets).header();
  if (header.method != wire::kMethodGet && header.method != wire::kMethodSet) return std::nullopt;
  Datagram response = request;
  header.method = wire::kMethodGet | wire::kMethodResponseBit;
  header.status = wire::kStatusBadAttribute;
  Smp(response.octets).set_header(header);
  return response;
}

auto details_at_switch(const wire::BadKeyDetails& packet, wire::Lid lid, std::uint8_t port) {
  constexpr std::uint16_t kWithoutGids = 0x3f;
  constexpr std::uint16_t kAll = 0xff;
  return wire::BadPkeyAtSwitchDetailsLayout::emit({.valid = packet.source_gid == wire::Gid{} ? kWithoutGids : kAll,
                                                   .source = packet.source,
                                                   .destination = packet.destination,
                                                   .pkey = static_cast<std::uint16_t>(packet.key),
                                                   .service_level = packet.service_level,
                                                   .source_qp = packet.source_qp,
                                                   .destination_qp = packet.destination_qp,
                                                   .source_gid = packet.source_gid,
                                                   .destination_gid = packet.destination_gid,
                                                   .switch_lid = lid,
                                                   .port = port});
}

}  // namespace

Subnet::Subnet(const Topology& topology, Receiver& receiver) : receiver_(receiver) {
  for (const NodePlan& plan : topology.nodes) nodes_.push_back(make_node(plan));
}

void Subnet::connect(Listener& listener, DataPath& data_path) {
  listener_ = &listener;
  data_path_ = &data_path;
}

void Subnet::send(PortEnd from, Datagram datagram) {
  if (!nodes_[from.node].is_alive) return;
  if (datagram.octets.size() < wire::kMadBytes) datagram.octets.resize(wire::kMadBytes);
  const bool is_directed = is_subnet_management(datagram) && Smp(datagram.octets).is_directed();
  if (is_directed && !is_on_way_by_lid(from, datagram))
    follow_or_take(from, std::move(datagram));
  else
    forward(from, std::move(datagram), true);
  run();
}

/// 14.2.2: a part of the way in front of the directed one, or behind it on the way back.
bool Subnet::is_on_way_by_lid(PortEnd at, const Datagram& datagram) {
  const Smp smp(datagram.octets);
  return smp.begins_by_lid() && smp.hop_pointer() == 0 && datagram.destination != wire::kLidPermissive &&
         !nodes_[at.node].management_port(at.port).has_lid(datagram.destination);
}

void Subnet::follow_or_take(PortEnd at, Datagram datagram) {
  const Smp smp(datagram.octets);
  if (!is_subnet_management(datagram) || !smp.is_directed())
    take(at, std::move(datagram));
  else if (smp.goes_back())
    go_back(at, std::move(datagram));
  else
    follow_route(at, std::move(datagram));
}

/// One after the other: an answer may be the cause of more.
void Subnet::run() {
  if (std::exchange(runs_, true)) return;
  while (!arrivals_.empty()) {
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    arrive(std::move(arrival));
  }
  runs_ = false;
}

void Subnet::arrive(Arrival arrival) {
  if (!nodes_[arrival.at.node].is_alive) return;
  const bool is_directed = is_subnet_management(arrival.datagram) && Smp(arrival.datagram.octets).is_directed();
  if (is_directed && !is_on_way_by_lid(arrival.at, arrival.datagram))
    follow_or_take(arrival.at, std::move(arrival.datagram));
  else
    forward(arrival.at, std::move(arrival.datagram), arrival.is_own);
}

/// Over the cable of a port to its other end, if both are up; data needs them armed or active.
bool Subnet::cross(PortEnd& at, const Datagram& datagram, bool needs_active) {
  Port& out = port_at(at);
  if (!out.peer || !out.is_up()) return false;
  Port& in = port_at(*out.peer);
  if (!in.is_up()) return false;
  const bool is_ready = out.info.state == wire::PortState::active &&
                        (in.info.state == wire::PortState::active || in.info.state == wire::PortState::armed);
  if (needs_active && !is_ready) {
    ++out.totals.transmit_discards;
    ++out.totals.inactive_discards;
    return false;
  }
  ++out.totals.transmit_packets;
  ++out.totals.unicast_transmit_packets;
  out.totals.transmit_words += words_of(datagram);
  ++in.totals.receive_packets;
  ++in.totals.unicast_receive_packets;
  in.totals.receive_words += words_of(datagram);
  at = *out.peer;
  return true;
}

/// 14.2.2: out by the ports that the sender names, each node noting by which port it came in.
void Subnet::follow_route(PortEnd at, Datagram datagram) {
  Smp smp(datagram.octets);
  const std::uint8_t pointer = smp.hop_pointer();
  const std::uint8_t count = smp.hop_count();
  if (count > wire::kHopsMax || smp.ends_by_lid()) return;
  if (pointer != 0) smp.set_return_port(pointer, at.port);
  if (pointer == count) {
    smp.set_hop_pointer(static_cast<std::uint8_t>(count + 1));
    return take(at, std::move(datagram));
  }
  const bool may_forward = pointer == 0 || nodes_[at.node].is_switch();
  const std::uint8_t next = smp.initial_port(static_cast<std::uint8_t>(pointer + 1));
  if (pointer > count || !may_forward || next == 0 || next >= nodes_[at.node].ports.size()) return;
  if (pointer == 0 && !nodes_[at.node].is_switch() && next != at.port) return;
  smp.set_hop_pointer(static_cast<std::uint8_t>(pointer + 1));
  PortEnd to{at.node, next};
  if (cross(to, datagram, false)) arrivals_.push_back({to, std::move(datagram)});
}

/// 14.2.2: back by the ports that were noted.
void Subnet::go_back(PortEnd at, Datagram datagram) {
  Smp smp(datagram.octets);
  const std::uint8_t pointer = smp.hop_pointer();
  if (pointer > smp.hop_count() + 1 || smp.ends_by_lid()) return;
  if (pointer <= 1) {
    smp.set_hop_pointer(0);
    datagram.destination = smp.addressing().directed_source;
    if (is_on_way_by_lid(at, datagram)) return forward(at, std::move(datagram), true);
    if (!nodes_[at.node].is_switch()) receiver_.receive(at, datagram);
    return;
  }
  const auto before = static_cast<std::uint8_t>(pointer - 1);
  const std::uint8_t out = smp.return_port(before);
  if (out == 0 || out >= nodes_[at.node].ports.size()) return;
  smp.set_hop_pointer(before);
  PortEnd to{at.node, out};
  if (cross(to, datagram, false)) arrivals_.push_back({to, std::move(datagram)});
}

/// By LID: to the node itself, or on, as the switch's table has it.
void Subnet::forward(PortEnd at, Datagram datagram, bool comes_from_node) {
  const bool needs_active = !is_subnet_management(datagram);
  for (unsigned hops = 0; hops < kHopsOfRoute; ++hops) {
    Node& node = nodes_[at.node];
    const Port& own = node.management_port(at.port);
    const bool is_own = own.has_lid(datagram.destination);
    const bool is_permissive = datagram.destination == wire::kLidPermissive;
    if (is_own || is_permissive) return follow_or_take(at, std::move(datagram));
    if (node.is_switch()) {
      const std::uint8_t out = node.way_to(datagram.destination.value());
      if (out == 0 || out >= node.ports.size()) {
        ++node.ports[at.port].totals.receive_switch_relay_errors;
        ++node.ports[at.port].totals.lid_mapping_errors;
        return;
      }
      at.port = out;
    } else if (!comes_from_node) {
      return;  // no adapter forwards
    }
    if (!cross(at, datagram, needs_active)) return;
    comes_from_node = false;
  }
}

/// It has come to the node that it is for.
void Subnet::take(PortEnd at, Datagram datagram) {
  const wire::AnyMadHeader header = Smp(datagram.octets).header();
  if (is_subnet_management(datagram)) {
    if (header.method == wire::kMethodTrapRepress) {
      if (SubnetAgent(*this, at).takes_repression(datagram)) traps_.repress(datagram);
      return;
    }
    if (auto response = SubnetAgent(*this, at).process(datagram)) return answer(at, datagram, std::move(*response));
    // The rest of the class is a manager's; what the agent has refused is nobody's.
    const bool is_for_manager = (header.method & wire::kMethodResponseBit) != 0 ||
                                header.attribute == wire::kAttributeSmInfo ||
                                header.attribute == wire::kAttributeNotice;
    if (is_for_manager && !nodes_[at.node].is_switch()) receiver_.receive(at, datagram);
    return;
  }
  if (header.management_class == wire::kClassPerformance)
    if (auto response = PerformanceAgent(*this, at).process(datagram))
      return answer(at, datagram, std::move(*response));
  if (!nodes_[at.node].is_switch() && receiver_.receive(at, datagram)) return;
  if (auto response = refusal_of(datagram)) answer(at, datagram, std::move(*response));
}

void Subnet::answer(PortEnd at, const Datagram& request, Datagram response) {
  response.source = request.destination;
  response.destination = request.source;
  response.service_level = request.service_level;
  response.source_qp = request.destination_qp;
  response.destination_qp = request.source_qp;
  response.qkey = request.qkey;
  const Smp smp(response.octets);
  if (is_subnet_management(response) && smp.is_directed()) return go_back(at, std::move(response));
  // A program on the node asks its own agent: it has no LID yet, or this one.
  const Port& own = nodes_[at.node].management_port(at.port);
  if (response.destination == wire::kLidPermissive || own.has_lid(response.destination))
    receiver_.receive(at, response);
  else
    forward(at, std::move(response), true);
}

void Subnet::note_change(PortEnd end) {
  Node& node = nodes_[end.node];
  receiver_.changed(end);
  if (listener_ != nullptr) listener_->port_changed(end, false);
  if (!node.is_switch() || !node.is_alive) return;
  node.switch_info.port_state_change = true;
  const wire::LinkStateDetails details{node.ports[0].info.base_lid};
  send_trap({end.node, 0},
            {.type = wire::NoticeType::urgent,
             .producer = static_cast<std::uint32_t>(wire::NodeType::switch_),
             .trap = wire::kTrapLinkStateChanged},
            wire::LinkStateDetailsLayout::emit(details));
}

void Subnet::change_state(PortEnd end, wire::PortState state) {
  Port& port = port_at(end);
  if (port.info.state == state) return;
  port.info.state = state;
  receiver_.changed(end);
  if (listener_ != nullptr) listener_->port_changed(end, false);
}

/// Both ends lose the link at once; the other one polls.
void Subnet::link_goes_down(PortEnd end, wire::PortPhysicalState physical) {
  const auto drop = [&](PortEnd one, wire::PortPhysicalState then) {
    Port& port = port_at(one);
    const bool was_up = port.is_up();
    port.info.physical_state = then;
    port.info.state = wire::PortState::down;
    if (!was_up) return;
    ++port.totals.link_downed;
    note_change(one);
  };
  const auto peer = port_at(end).peer;
  drop(end, physical);
  if (peer && port_at(*peer).is_up()) drop(*peer, wire::PortPhysicalState::polling);
}

/// What a manager sets (14.2.5.6): disabled stays down; polling comes up again where the other end does.
void Subnet::set_physical_state(PortEnd end, wire::PortPhysicalState state) {
  const bool stays_down = state == wire::PortPhysicalState::disabled || state == wire::PortPhysicalState::sleep;
  link_goes_down(end, stays_down ? state : wire::PortPhysicalState::polling);
  if (!stays_down) link_comes_up(end);
}

/// If both ends look for it.
void Subnet::link_comes_up(PortEnd end) {
  const Port& port = port_at(end);
  if (!port.peer || !port.has_signal || !nodes_[end.node].is_alive || !nodes_[port.peer->node].is_alive) return;
  for (const PortEnd one : {end, *port.peer})
    if (port_at(one).info.physical_state != wire::PortPhysicalState::polling) return;
  for (const PortEnd one : {end, *port.peer}) {
    port_at(one).info.physical_state = wire::PortPhysicalState::link_up;
    port_at(one).info.state = wire::PortState::init;
    note_change(one);
  }
}

void Subnet::set_link(PortEnd end, bool has_signal) {
  Port& port = port_at(end);
  if (!port.peer || port.has_signal == has_signal) return;
  for (const PortEnd one : {end, *port.peer}) port_at(one).has_signal = has_signal;
  if (has_signal) {
    link_comes_up(end);
  } else if (port.is_up()) {
    link_goes_down(end, wire::PortPhysicalState::polling);
  }
  run();
}

void Subnet::set_link_speed(PortEnd end, std::uint8_t speed, std::uint8_t extended) {
  const auto set = [&](PortEnd one) {
    port_at(one).set_speed(speed, extended);
    // Of a switch the capabilities of all its ports are those of port 0.
    Node& node = nodes_[one.node];
    if (extended != 0) node.management_port(one.port).info.capability_mask |= wire::kCapabilityHasExtendedSpeeds;
    receiver_.changed(one);
  };
  set(end);
  if (const auto peer = port_at(end).peer) set(*peer);
}

void Subnet::set_node_alive(std::size_t node, bool is_alive) {
  Node& of = nodes_[node];
  if (of.is_alive == is_alive) return;
  of.is_alive = is_alive;
  if (is_alive) restart(node);
  for (std::size_t number = 1; number < of.ports.size(); ++number) {
    const PortEnd end{node, static_cast<std::uint8_t>(number)};
    if (is_alive) {
      link_comes_up(end);
    } else if (of.ports[number].is_up()) {
      link_goes_down(end, wire::PortPhysicalState::polling);
    }
  }
  run();
}

/// Its cables stay where they are, and what was counted of them is lost.
void Subnet::restart(std::size_t node) {
  Node anew = make_node(nodes_[node].plan);
  anew.is_alive = nodes_[node].is_alive;
  for (std::size_t number = 1; number < anew.ports.size(); ++number) {
    Port& port = anew.ports[number];
    const Port& before = nodes_[node].ports[number];
    port.has_signal = before.has_signal;
    port.set_speed(before.info.speed_active, before.info.speed_extended_active);
    port.info.physical_state = wire::PortPhysicalState::polling;
    port.info.state = wire::PortState::down;
  }
  nodes_[node] = std::move(anew);
  traps_.forget(node);
  std::erase_if(leases_, [&](PortEnd end) { return end.node == node; });
  if (listener_ != nullptr) listener_->node_restarted(node);
}

void Subnet::set_subnet_manager(PortEnd end, bool is_one) {
  wire::PortInfo& info = port_at(end).info;
  const std::uint32_t before = info.capability_mask;
  info.capability_mask = is_one ? before | wire::kCapabilityIsSm : before & ~wire::kCapabilityIsSm;
  if (info.capability_mask == before) return;
  receiver_.changed(end);
  if (info.master_sm_lid == info.base_lid) return;  // it knows
  const wire::CapabilityDetails details{.port_lid = info.base_lid, .capability_mask = info.capability_mask};
  send_trap(end,
            {.type = wire::NoticeType::information,
             .producer = static_cast<std::uint32_t>(wire::NodeType::channel_adapter),
             .trap = wire::kTrapCapabilityChanged},
            wire::CapabilityDetailsLayout::emit(details));
  run();
}

void Subnet::refuse_key(PortEnd end, std::uint16_t trap, const wire::BadKeyDetails& packet, std::uint32_t packets) {
  const Node& node = nodes_[end.node];
  const wire::Notice notice{.type = wire::NoticeType::security,
                            .producer = static_cast<std::uint32_t>(node.plan.type),
                            .trap = node.is_switch() ? wire::kTrapBadPkeyAtSwitch : trap};
  if (node.is_switch()) {
    send_trap({end.node, 0}, notice, details_at_switch(packet, node.ports[0].info.base_lid, end.port));
  } else {
    wire::PortInfo& info = port_at(end).info;
    std::uint16_t& violations = trap == wire::kTrapBadPkey ? info.pkey_violations : info.qkey_violations;
    violations = static_cast<std::uint16_t>(std::min<std::uint64_t>(std::uint64_t{violations} + packets, UINT16_MAX));
    receiver_.changed(end);
    send_trap(end, notice, wire::BadKeyDetailsLayout::emit(packet));
  }
  run();
}

void Subnet::send_trap(PortEnd from, const wire::Notice& notice, std::span<const std::byte> details) {
  const wire::PortInfo& info = nodes_[from.node].management_port(from.port).info;
  if (auto trap = traps_.raise(now_, from, info, notice, details)) arrivals_.push_back({from, std::move(*trap), true});
}

/// 14.2.4: who does not know the key has been heard, and who knows it has to be heard in time.
void Subnet::begin_lease(PortEnd end) {
  if (nodes_[end.node].is_switch()) end.port = 0;
  Port& port = port_at(end);
  if (port.info.key_lease_seconds == 0 || port.lease_end) return;
  port.lease_end = now_ + seconds(port.info.key_lease_seconds);
  if (std::ranges::find(leases_, end) == leases_.end()) leases_.push_back(end);
}

std::optional<Time> Subnet::next_deadline() const {
  std::optional<Time> first = traps_.next_deadline();
  for (const PortEnd end : leases_) {
    const auto& lease = nodes_[end.node].ports[end.port].lease_end;
    if (lease && (!first || *lease < *first)) first = lease;
  }
  return first;
}

void Subnet::advance(Time now) {
  now_ = now;
  // A lease that has run out: whose key it was has not come back, everybody may look at it now.
  std::erase_if(leases_, [&](PortEnd end) {
    Port& port = port_at(end);
    if (port.lease_end && *port.lease_end > now_) return false;
    if (port.lease_end) port.info.key_protect_bits = 0;
    port.lease_end.reset();
    return true;
  });
  for (Traps::Sent& sent : traps_.due(now)) arrivals_.push_back({sent.from, std::move(sent.datagram), true});
  run();
}

}  // namespace verbena::subnet
