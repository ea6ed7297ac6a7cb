// Multicast of datagrams: who belongs to a group, and the copies that each member gets (IBTA 10.5.2).
#include "emulator/nic/transport_ib/groups.h"

#include <algorithm>

#include "emulator/nic/transport_ib/datagram.h"
#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/ethernet/raw_packet.h"

namespace verbena::nic {
namespace {

Group* find_group(NicState& nic, const wire::Gid& address) {
  auto& groups = nic.steering.groups;
  const auto found = std::ranges::find(groups, address, &Group::address);
  return found != groups.end() ? &*found : nullptr;
}

bool may_join(const Qp* qp, const wire::Gid& group) {
  return qp != nullptr && qp->service->type == QpType::ud && group.is_multicast();
}

}  // namespace

VerbsResult<void> Nic::attach_group(QpHandle handle, const wire::Gid& address) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (!may_join(qp, address)) return Failure{VerbsError::invalid_argument};
  Group* group = find_group(nic, address);
  if (group != nullptr && std::ranges::find(group->members, qp) != group->members.end()) return {};
  const bool has_room = group != nullptr ? group->members.size() < nic.config.limits.max_group_members
                                         : nic.steering.groups.size() < nic.config.limits.max_groups;
  if (!has_room) return Failure{VerbsError::no_memory};
  if (group == nullptr) group = &nic.steering.groups.emplace_back(Group{address, {}});
  group->members.push_back(qp);
  ++qp->attachments;
  nic.steering.looped.allocate();
  return {};
}

VerbsResult<void> Nic::detach_group(QpHandle handle, const wire::Gid& address) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (!may_join(qp, address)) return Failure{VerbsError::invalid_argument};
  Group* group = find_group(nic, address);
  if (group == nullptr || std::erase(group->members, qp) == 0) return Failure{VerbsError::invalid_argument};
  --qp->attachments;
  if (group->members.empty()) std::erase_if(nic.steering.groups, [group](const Group& g) { return &g == group; });
  return {};
}

bool Nic::has_members(const wire::Gid& group) const {
  return loops_back(*state_, group);
}

bool loops_back(const NicState& nic, const wire::Gid& destination) {
  return destination.is_multicast() &&
         std::ranges::find(nic.steering.groups, destination, &Group::address) != nic.steering.groups.end();
}

void receive_group(NicState& nic, const wire::PacketView& packet, wire::Qpn sender) {
  const Group* group = find_group(nic, packet.destination());
  if (group == nullptr) {
    nic.counters.add(Counter::rx_dropped_no_qp);
    return;
  }
  if (wire::transport_of(packet.bth().opcode) != wire::Transport::ud) {
    nic.counters.add(Counter::rx_dropped_wrong_transport);
    return;
  }
  if ((packet.bth().pkey & wire::kPkeyMask) != wire::kPkeyMask) {
    nic.counters.add(Counter::rx_dropped_pkey);
    return;
  }
  for (Qp* member : group->members) {
    if (member->blocks_own_groups && member->qpn == sender) continue;
    if (member->accepts_packets())
      receive_datagram(nic, *member, packet);
    else
      nic.counters.add(Counter::rx_dropped_qp_state);
  }
}

void LoopedFrames::push(wire::Qpn sender, std::span<const std::byte> octets) {
  VERBENA_ASSERT(!full() && octets.size() <= wire::kFrameBytesMax && !storage_.empty());
  std::ranges::copy(octets, storage_.begin() + static_cast<std::ptrdiff_t>(count_ * wire::kFrameBytesMax));
  bytes_[count_] = octets.size();
  senders_[count_] = sender;
  ++count_;
}

void deliver_looped(NicState& nic) {
  LoopedFrames& looped = nic.steering.looped;
  for (std::size_t i = 0; i < looped.count(); ++i) {
    const LoopedFrames::Frame frame = looped.at(i);
    if (const auto packet = wire::parse_frame(frame.octets); packet)
      receive_group(nic, *packet, frame.sender);
    else
      receive_ethernet(nic, frame.octets, frame.sender);
  }
  looped.clear();
}

}  // namespace verbena::nic
