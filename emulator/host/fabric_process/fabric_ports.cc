#include "emulator/host/fabric_process/fabric_ports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/port_signal.h"
#include "wire/pause_frame.h"

namespace verbena::host {

Result<std::unique_ptr<FabricPorts>, std::string> FabricPorts::open(const std::string& fabric,
                                                                    const fabric::Topology& topology,
                                                                    const fabric::NetworkOptions& options) {
  if (topology.nodes() > kNodesMax)
    return Failure{"a fabric of processes has at most " + std::to_string(kNodesMax) + " nodes, not " +
                   std::to_string(topology.nodes())};
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
      nodes_(topology.hosts, topology.rails),
      dead_ports_(topology.hosts) {
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    if (topology.is_managed) continue;  // a subnet manager gives LIDs
    if (topology.medium == wire::Medium::infiniband) {
      const wire::Lid lid = static_lid(nodes_[host].address);
      nodes_.set_lids(host, lid, 0);
      network_.add_address(host, wire::gid_of(lid));
      continue;
    }
    network_.add_address(host, nodes_[host].address);
    if (const auto link_local = link_local_of(nodes_[host].address)) network_.add_address(host, *link_local);
  }
  network_.watch_ports(this);
  if (!serving_.held()) is_squatted(served_fabric_name(fabric.c_str()));
}

/// The name first: who calls too late to be told finds it.
void FabricPorts::port_changed(std::uint32_t host, bool is_up) {
  HeldName& dead_port = dead_ports_[host];
  if (is_up) {
    dead_port.release();
  } else {
    const AbstractName name = dead_port_name(fabric_.c_str(), nodes_[host].address.octets);
    dead_port = name.hold();
    if (!dead_port.held()) is_squatted(name);
  }
  notify(host, is_up ? Notice::port_up : Notice::port_down);
}

std::vector<FabricPorts::Process> FabricPorts::processes() const {
  std::vector<Process> processes;
  std::vector<PeerName> peers;
  shm_->list_peers(peers);
  for (const PeerName& peer : peers)
    if (const std::uint32_t host = nodes_.host_of(peer.address); host != FabricNodes::kNoHost)
      processes.push_back({host, peer.slot});
  return processes;
}

bool FabricPorts::pass(Time now) {
  now_ = now;
  room_at_ = kNever;
  holds_back_ = false;
  delivery_.begin_pass(now);
  network_.run(now, delivery_);  // first what was due before these frames come
  const std::size_t taken = shm_->receive(now, *this, kPassFrames);
  if (!last_words_.empty()) [[unlikely]]
    last_words_.pass_on(now_);
  if (taken != 0) network_.run(now, delivery_);  // where nothing takes time, they are there already
  if (back_pressure_.holds_any()) [[unlikely]]
    back_pressure_.look_at_held(now_);
  shm_->publish();
  pace_.tell_look(now, taken, taken >= kPassFrames || holds_back_);
  const bool any_moved = taken != 0 || delivery_.moved() != 0;
  if (any_moved) pace_.has_moved(now);
  if (gathers()) pace_.ring_in_time(now);
  shm_->flush();
  return any_moved;
}

std::optional<Time> FabricPorts::next_deadline(bool ticks) const {
  Time earliest = std::min(network_.next_deadline().value_or(kNever), room_at_);
  if (!ticks) earliest = std::min(earliest, shm_->next_deadline().value_or(kNever));
  return earliest == kNever ? std::nullopt : std::optional(earliest);
}

bool FabricPorts::arm(Time now) {
  now_ = now;
  room_at_ = kNever;
  pace_.ring();
  shm_->flush();
  if (!shm_->arm(*this)) return false;
  shm_->yielded_cores().give_all_back();
  return true;
}

std::size_t FabricPorts::turn(const PeerName& peer) {
  sender_ = nodes_.host_of(peer.address);
  sender_slot_ = peer.slot;
  if (sender_ == FabricNodes::kNoHost) return SIZE_MAX;
  if (back_pressure_.is_paused(now_, sender_)) {
    holds_back_ = true;
    room_at_ = std::min(room_at_, now_ + BackPressure::kLook);
    return 0;
  }
  const fabric::ClassMask held = back_pressure_.held(sender_);
  const fabric::Room room = network_.room_on_every_way(now_, sender_, held);
  if (room.held != held) [[unlikely]]
    back_pressure_.hold(sender_, room.held);
  if (room.octets == 0) room_at_ = std::min(room_at_, room.more_at);
  return room.octets;
}

void FabricPorts::frame(std::span<const std::byte> frame, wire::IcrcState icrc) {
  if (sender_ == FabricNodes::kNoHost) {
    ++strays_;
    return;
  }
  NodeStatistics& statistics = nodes_[sender_].statistics;
  ++statistics.frames_in;
  statistics.octets_in += frame.size();
  network_.submit(now_, sender_, frame, icrc);
}

/// As an HCA gives such a packet to its own QPs too. Those of the sending process have it from their own NIC.
void FabricPorts::sent_to_group(std::uint32_t host, std::span<const std::byte> frame, wire::IcrcState icrc) {
  if (host == sender_) delivery_.hand_to_siblings(host, sender_slot_, frame, icrc);
}

void FabricPorts::service(Time now) {
  shm_->control().service();
  last_words_.pass_on(now_);
  shm_->look_at_waiting(now, [&](const PeerName& peer, Time since) {
    const std::uint32_t host = nodes_.host_of(peer.address);
    if (host == FabricNodes::kNoHost || now - since <= nodes_[host].statistics.not_run) return;
    nodes_[host].statistics.not_run = now - since;
    nodes_[host].statistics.not_run_from = since;
  });
}

/// The port is here and the NIC, which counts what its port sends, in the node's processes. It tells such a frame from
/// those that came by its address.
void FabricPorts::pause_sent(std::uint32_t host, fabric::ClassMask classes) {
  std::array<std::byte, wire::kPauseFrameBytes> frame;
  wire::write_pause_frame({.source = nodes_[host].mac, .classes = classes}, frame);
  delivery_.hand_to_nic(host, frame);
}

}  // namespace verbena::host
