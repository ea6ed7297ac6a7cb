// Multicast of datagrams: the copies that each member of a group gets (IBTA 10.5.2).
#include "emulator/nic/transport_ib/groups.h"

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/datagram.h"

namespace verbena::nic {
bool loops_back(const NicState& nic, const wire::Gid& destination) {
  return destination.is_multicast() && nic.steering.find_group(destination) != nullptr;
}

void receive_group(NicState& nic, const wire::PacketView& packet, wire::Qpn sender) {
  const Group* group = nic.steering.find_group(packet.destination());
  if (group == nullptr) {
    nic.arrival_counters->add(Counter::rx_dropped_no_qp);
    return;
  }
  if (wire::transport_of(packet.bth().opcode) != wire::Transport::ud) {
    nic.arrival_counters->add(Counter::rx_dropped_wrong_transport);
    return;
  }
  for (Qp* member : group->members) {
    if (member->blocks_own_groups && member->qpn == sender) continue;
    if (member->attributes.port != nic.arrival_port) continue;
    if (!member->accepts_packets())
      nic.arrival_counters->add(Counter::rx_dropped_qp_state);
    else if (!member->pkeys_taken.takes(packet.bth().pkey))
      nic.refuse_key(packet, Counter::rx_dropped_pkey);
    else
      receive_datagram(nic, *member, packet);
  }
}

}  // namespace verbena::nic
