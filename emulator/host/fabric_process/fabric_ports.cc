#include "emulator/host/fabric_process/fabric_ports.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/fabric/flow_dissector.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/node/port_signal.h"
#include "wire/packet_view.h"
#include "wire/pause_frame.h"

namespace verbena::host {

Result<std::unique_ptr<FabricPorts>, std::string> FabricPorts::open(const std::string& fabric,
                                                                    const fabric::Topology& topology,
                                                                    const fabric::NetworkOptions& options) {
  if (topology.hosts > kNodesMax)
    return Failure{"a fabric of processes has at most " + std::to_string(kNodesMax) + " nodes, not " +
                   std::to_string(topology.hosts)};
  auto processes = ShmPorts::open(fabric);
  if (!processes) return Failure{processes.error()};
  return std::unique_ptr<FabricPorts>(new FabricPorts(fabric, std::move(*processes), topology, options));
}

FabricPorts::FabricPorts(const std::string& fabric, std::unique_ptr<ShmPorts> processes,
                         const fabric::Topology& topology, const fabric::NetworkOptions& options)
    : fabric_(fabric),
      shm_(std::move(processes)),
      serving_(served_fabric_name(fabric.c_str()).hold()),
      network_(topology, options),
      nodes_(topology.hosts) {
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    nodes_[host].address = node_address(host + 1);
    network_.add_address(host, nodes_[host].address);
    if (const auto link_local = link_local_of(nodes_[host].address)) network_.add_address(host, *link_local);
  }
  network_.watch_ports(this);
  if (!serving_.held()) is_squatted(served_fabric_name(fabric.c_str()));
}

/// The name first: who calls too late to be told finds it.
void FabricPorts::port_changed(std::uint32_t host, bool is_up) {
  Node& node = nodes_[host];
  if (is_up) {
    node.dead_port.release();
  } else {
    const AbstractName name = dead_port_name(fabric_.c_str(), node.address.octets);
    node.dead_port = name.hold();
    if (!node.dead_port.held()) is_squatted(name);
  }
  notify(host, is_up ? Notice::port_up : Notice::port_down);
}

std::uint32_t FabricPorts::host_of(const wire::Gid& address) const {
  const auto node = node_number(address);
  return node && *node <= nodes_.size() ? *node - 1 : kNoHost;
}

std::vector<FabricPorts::Process> FabricPorts::processes() const {
  std::vector<Process> processes;
  std::vector<PeerName> peers;
  shm_->list_peers(peers);
  for (const PeerName& peer : peers)
    if (const std::uint32_t host = host_of(peer.address); host != kNoHost) processes.push_back({host, peer.slot});
  return processes;
}

bool FabricPorts::pass(Time now) {
  now_ = now;
  room_at_ = kNever;
  moved_ = 0;
  calls_taken_ = false;
  holds_back_ = false;
  network_.run(now, *this);  // first what was due before these frames come
  const std::size_t taken = shm_->receive(now, *this, kPassFrames);
  if (!last_words_.empty()) [[unlikely]]
    take_last_words();
  if (taken != 0) network_.run(now, *this);  // where nothing takes time, they are there already
  if (nodes_held_ != 0) [[unlikely]]
    look_at_held();
  shm_->publish();
  tell_look(now, taken);
  const bool any_moved = taken != 0 || moved_ != 0;
  if (any_moved) moved_at_ = now;
  if (gathers()) ring_in_time(now);
  shm_->flush();
  return any_moved;
}

/// Processes run no timer over what we have not handed on. Frames that come faster than they are taken do not put that
/// off for ever: once as many have passed as a ring holds, what lay there has been taken.
void FabricPorts::tell_look(Time now, std::size_t taken) {
  if (taken < kPassFrames && !holds_back_) {
    backlog_frames_ = 0;
    return shm_->has_looked(now);
  }
  if (backlog_frames_ == 0) backlog_since_ = now;
  backlog_frames_ += taken;
  if (backlog_frames_ < kBacklogFramesMax) return;
  shm_->has_looked(backlog_since_);
  backlog_frames_ = 0;
}

void FabricPorts::ring_in_time(Time now) {
  gathers_since_ = std::min(gathers_since_, now);
  const Duration most = shm_->yielded_cores().has_any() ? kGatherMaxForYielder : kGatherMax;
  if (now < std::min(moved_at_ + kGather, gathers_since_ + most)) return;
  shm_->ring_held_doorbells();
  gathers_since_ = kNever;
}

std::optional<Time> FabricPorts::next_deadline(bool ticks) const {
  Time earliest = std::min(network_.next_deadline().value_or(kNever), room_at_);
  if (!ticks) earliest = std::min(earliest, shm_->next_deadline().value_or(kNever));
  return earliest == kNever ? std::nullopt : std::optional(earliest);
}

bool FabricPorts::arm(Time now) {
  now_ = now;
  room_at_ = kNever;
  shm_->ring_held_doorbells();
  shm_->flush();
  gathers_since_ = kNever;
  if (!shm_->arm(*this)) return false;
  shm_->yielded_cores().give_all_back();
  return true;
}

std::size_t FabricPorts::turn(const PeerName& peer) {
  sender_ = host_of(peer.address);
  if (sender_ == kNoHost) return SIZE_MAX;
  if (Node& sender = nodes_[sender_]; sender.pause && is_still_paused(sender)) return 0;
  const fabric::ClassMask held = nodes_[sender_].held;
  const fabric::Room room = network_.room_on_every_way(now_, sender_, held);
  if (room.held != held) [[unlikely]]
    hold(sender_, room.held);
  if (room.octets == 0) room_at_ = std::min(room_at_, room.more_at);
  return room.octets;
}

void FabricPorts::frame(std::span<const std::byte> frame, wire::IcrcState icrc) {
  if (sender_ == kNoHost) {
    ++strays_;
    return;
  }
  NodeStatistics& statistics = nodes_[sender_].statistics;
  ++statistics.frames_in;
  statistics.octets_in += frame.size();
  network_.submit(now_, sender_, frame, icrc);
}

[[gnu::flatten]] bool FabricPorts::arrived(const fabric::Arrival& arrival) {
  ++moved_;
  Node& node = nodes_[arrival.host];
  const auto qpn = wire::destination_qpn(arrival.frame);
  if (!qpn) return arrived_without_qp(arrival);
  if (*qpn == wire::kMulticastQpn || *qpn == wire::kGsiQpn) return arrived_for_all(arrival);
  const nic::Destination destination{node.address, *qpn, node.route_hints[slot_of(*qpn)]};
  auto room = shm_->reserve(destination, arrival.frame.size());
  if (!room && take_calls()) room = shm_->reserve(destination, arrival.frame.size());
  if (!room) {
    ++node.statistics.nobody;
    return false;
  }
  hand_over(slot_of(*qpn), arrival, *room);
  return true;
}

/// Meets the processes that called since the last service(). Once per pass: a peer that floods a process which is gone
/// must not cost system calls. False: this pass has done it.
bool FabricPorts::take_calls() {
  if (calls_taken_) return false;
  calls_taken_ = true;
  shm_->take_calls();
  return true;
}

void FabricPorts::hand_over(std::uint8_t slot, const fabric::Arrival& arrival, std::span<std::byte> room) {
  NodeStatistics& statistics = nodes_[arrival.host].statistics;
  if (room.empty()) {
    ++statistics.overflowed;
    return;
  }
  std::memcpy(room.data(), arrival.frame.data(), arrival.frame.size());
  shm_->commit(arrival.frame.size(), arrival.icrc);
  ++statistics.frames_out;
  statistics.octets_out += arrival.frame.size();
  if (shm_->is_behind(kPauseRoom)) pause_sender({arrival.host, slot}, arrival.frame);
}

void FabricPorts::pause_sender(const Process& behind, std::span<const std::byte> frame) {
  const auto source = fabric::look_at_source(frame);
  const std::uint32_t host = source ? host_of(node_of(*source)) : kNoHost;
  if (host == kNoHost || nodes_[host].pause) return;
  nodes_[host].pause = {behind, now_ + kPauseMax};
  ++nodes_[host].statistics.pauses;
}

bool FabricPorts::is_still_paused(Node& node) {
  const auto [host, slot] = node.pause->behind;
  Node& behind = nodes_[host];
  if (now_ >= node.pause->until ||
      !shm_->is_behind({behind.address, qpn_base_of(slot), behind.route_hints[slot]}, kGoOnRoom)) {
    node.pause.reset();
    return false;
  }
  holds_back_ = true;
  room_at_ = std::min(room_at_, now_ + kPauseLook);
  return true;
}

void FabricPorts::hold(std::uint32_t host, fabric::ClassMask classes) {
  Node& node = nodes_[host];
  nodes_held_ += static_cast<std::uint32_t>(classes != 0) - static_cast<std::uint32_t>(node.held != 0);
  node.held = classes;
  shm_->hold(host + 1, network_.topology().qos->dscps_of(classes));
}

/// They may hand over nothing, so that it is not for their frames that one would look.
void FabricPorts::look_at_held() {
  for (std::uint32_t host = 0; host < nodes_.size(); ++host) {
    const fabric::ClassMask held = nodes_[host].held;
    if (held == 0) continue;
    if (const fabric::Room room = network_.room_on_every_way(now_, host, held); room.held != held)
      hold(host, room.held);
  }
}

void FabricPorts::look_at_waiting(Time now) {
  shm_->look_at_waiting(now, [&](const PeerName& peer, Time since) {
    const std::uint32_t host = host_of(peer.address);
    if (host == kNoHost || now - since <= nodes_[host].statistics.not_run) return;
    nodes_[host].statistics.not_run = now - since;
    nodes_[host].statistics.not_run_from = since;
  });
}

// -- Last words -------------------------------------------------------------------------------------------------------

void FabricPorts::crash(std::uint32_t host) {
  Node& node = nodes_[host];
  shm_->list_peers(peers_);
  for (const PeerName& peer : peers_)
    if (peer.address == node.address) node.crashed[peer.slot] = shm_->presence(peer).arrivals;
}

void FabricPorts::take_last_words() {
  while (auto carried = shm_->control().take_carried()) last_words_.push_back(std::move(*carried));
  if (!last_words_.empty()) std::erase_if(last_words_, [this](const auto& carried) { return pass_on(carried); });
}

/// From a process that has ended: not before all that it had sent. False: not yet.
bool FabricPorts::pass_on(const ShmControl::Carried& carried) {
  const auto packet = wire::parse_frame(carried.frame);
  if (!packet || packet->bth().dest_qp != wire::kGsiQpn || node_of(packet->destination()) != carried.teller.address)
    return true;
  const std::uint32_t host = host_of(node_of(packet->source()));
  if (host == kNoHost) return true;
  const Node& node = nodes_[host];
  const ShmPorts::Presence presence = shm_->presence({node.address, carried.slot});
  if (presence.is_draining) return false;
  const auto crashed = node.crashed.find(carried.slot);
  // It is the last that was there, or the one before if another one has come since.
  const std::uint32_t latest = presence.arrivals;
  if (crashed != node.crashed.end() &&
      (crashed->second == latest || (presence.is_there && crashed->second + 1 == latest)))
    return true;
  network_.submit(now_, host, carried.frame);
  return true;
}

/// It has done its work, in the node's port, and is for the NIC to count.
bool FabricPorts::arrived_without_qp(const fabric::Arrival& arrival) {
  if (wire::parse_pause_frame(arrival.frame))
    hand_to_nic(arrival.host, arrival.frame);
  else
    ++strays_;
  return true;
}

/// The port is here and the NIC, which counts what its port sends, in the node's processes. It tells such a frame from
/// those that came by its address.
void FabricPorts::pause_sent(std::uint32_t host, fabric::ClassMask classes) {
  std::array<std::byte, wire::kPauseFrameBytes> frame;
  wire::write_pause_frame({.source = node_mac(nodes_[host].address), .classes = classes}, frame);
  hand_to_nic(host, frame);
}

void FabricPorts::hand_to_nic(std::uint32_t host, std::span<const std::byte> frame) {
  const Node& node = nodes_[host];
  shm_->list_peers(peers_);
  const auto peer = std::min_element(peers_.begin(), peers_.end(), [&](const PeerName& a, const PeerName& b) {
    return std::pair(!(a.address == node.address), a.slot) < std::pair(!(b.address == node.address), b.slot);
  });
  if (peer == peers_.end() || !(peer->address == node.address)) return;
  std::uint32_t hint = 0;
  const auto room = shm_->reserve({node.address, qpn_base_of(peer->slot), hint}, frame.size());
  if (!room || room->empty()) return;
  std::memcpy(room->data(), frame.data(), frame.size());
  shm_->commit(frame.size(), wire::IcrcState::present);
}

/// Which of the node's processes has joined the group, or takes a datagram of QP1, is known to them.
bool FabricPorts::arrived_for_all(const fabric::Arrival& arrival) {
  Node& node = nodes_[arrival.host];
  bool is_taken = false;
  take_calls();  // who called before the frame was sent is one of them
  shm_->list_peers(peers_);
  for (const PeerName& peer : peers_) {
    if (!(peer.address == node.address)) continue;
    const nic::Destination destination{node.address, qpn_base_of(peer.slot), node.route_hints[peer.slot]};
    const auto room = shm_->reserve(destination, arrival.frame.size());
    if (!room) continue;
    is_taken = true;
    hand_over(peer.slot, arrival, *room);
  }
  if (!is_taken) ++node.statistics.nobody;
  return is_taken;
}

}  // namespace verbena::host
