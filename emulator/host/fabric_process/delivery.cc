#include "emulator/host/fabric_process/delivery.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/flow_key.h"
#include "wire/pause_frame.h"

namespace verbena::host {
namespace {

constexpr auto kNoSlot = static_cast<std::uint8_t>(kSlots);  // of no process

}  // namespace

[[gnu::flatten]] bool Delivery::arrived(const fabric::Arrival& arrival) {
  ++moved_;
  FabricNode& node = nodes_[arrival.host];
  const auto qpn = medium_ == wire::Medium::ethernet ? wire::destination_qpn(arrival.frame)
                                                     : wire::find_destination_qpn(arrival.frame, medium_);
  if (!qpn) return arrived_without_qp(arrival);
  if (*qpn == wire::kMulticastQpn || *qpn == wire::kGsiQpn) return arrived_for_all(arrival);
  const nic::Destination destination{node.address, *qpn, node.route_hints[slot_of(*qpn)]};
  auto room = shm_.reserve(destination, arrival.frame.size());
  if (!room && take_calls()) room = shm_.reserve(destination, arrival.frame.size());
  if (!room) {
    ++node.statistics.nobody;
    return false;
  }
  hand_over(slot_of(*qpn), arrival, *room);
  return true;
}

/// Meets the processes that called since the last service(). Once per pass: a peer that floods a process which is gone
/// must not cost system calls. False: this pass has done it.
bool Delivery::take_calls() {
  if (calls_taken_) return false;
  calls_taken_ = true;
  shm_.take_calls();
  return true;
}

void Delivery::hand_over(std::uint8_t slot, const fabric::Arrival& arrival, std::span<std::byte> room) {
  FabricNodeStatistics& statistics = nodes_[arrival.host].statistics;
  if (room.empty()) {
    ++statistics.overflowed;
    return;
  }
  std::memcpy(room.data(), arrival.frame.data(), arrival.frame.size());
  shm_.commit(arrival.frame.size(), arrival.icrc);
  ++statistics.frames_out;
  statistics.octets_out += arrival.frame.size();
  back_pressure_.look_after(now_, {arrival.host, slot}, arrival.frame);
}

/// It has done its work, in the node's port, and is for the NIC to count.
bool Delivery::arrived_without_qp(const fabric::Arrival& arrival) {
  if (wire::parse_pause_frame(arrival.frame))
    hand_to_nic(arrival.host, arrival.frame);
  else
    ++strays_;
  return true;
}

void Delivery::hand_to_nic(std::uint32_t host, std::span<const std::byte> frame) {
  const FabricNode& node = nodes_[host];
  shm_.list_peers(peers_);
  const auto peer = std::min_element(peers_.begin(), peers_.end(), [&](const PeerName& a, const PeerName& b) {
    return std::pair(!(a.address == node.address), a.slot) < std::pair(!(b.address == node.address), b.slot);
  });
  if (peer == peers_.end() || !(peer->address == node.address)) return;
  std::uint32_t hint = 0;
  const auto room = shm_.reserve({node.address, qpn_base_of(peer->slot), hint}, frame.size());
  if (!room || room->empty()) return;
  std::memcpy(room->data(), frame.data(), frame.size());
  shm_.commit(frame.size(), wire::IcrcState::present);
}

/// Which of the node's processes has joined the group, or takes a datagram of QP1, is known to them.
bool Delivery::arrived_for_all(const fabric::Arrival& arrival) {
  const bool is_taken = hand_to_all(arrival, kNoSlot);
  if (!is_taken) ++nodes_[arrival.host].statistics.nobody;
  return is_taken;
}

void Delivery::hand_to_siblings(std::uint32_t host, std::uint8_t sender_slot, std::span<const std::byte> frame,
                                wire::IcrcState icrc) {
  const auto qpn = wire::find_destination_qpn(frame, medium_);
  if (!qpn || *qpn != wire::kMulticastQpn) return;
  hand_to_all({.time = now_, .host = host, .frame = frame, .icrc = icrc}, sender_slot);
}

bool Delivery::hand_to_all(const fabric::Arrival& arrival, std::uint8_t but_slot) {
  FabricNode& node = nodes_[arrival.host];
  bool is_taken = false;
  take_calls();  // who called before the frame was sent is one of them
  shm_.list_peers(peers_);
  for (const PeerName& peer : peers_) {
    if (!(peer.address == node.address) || peer.slot == but_slot) continue;
    const nic::Destination destination{node.address, qpn_base_of(peer.slot), node.route_hints[peer.slot]};
    const auto room = shm_.reserve(destination, arrival.frame.size());
    if (!room) continue;
    is_taken = true;
    hand_over(peer.slot, arrival, *room);
  }
  return is_taken;
}

}  // namespace verbena::host
