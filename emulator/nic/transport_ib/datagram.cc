// Unreliable datagrams: one packet a message, an address handle for each, the GRH area in front of what is received.
// IBTA vol 1, 9.8.3.
#include "emulator/nic/transport_ib/datagram.h"

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/groups.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/payload.h"
#include "emulator/nic/transport_ib/receive_buffer.h"

namespace verbena::nic {
namespace {

constexpr std::uint32_t kPrivilegedQkey = 0x80000000;  // the QP's own Q_Key goes out instead (10.2.5)

wire::Opcode datagram_opcode(const SendWork& work) {
  const bool immediate = work.opcode == SendOpcode::send_with_immediate;
  return wire::make_opcode(wire::Transport::ud,
                           immediate ? wire::OperationCode::send_only_with_immediate : wire::OperationCode::send_only);
}

bool qkey_matches(const Qp& qp, const wire::PacketView& packet) {
  return packet.deth().qkey == qp.attributes.qkey;
}

/// What the LRH says of the way (IBA volume 1, 11.4.2.1: poll for completion).
[[gnu::noinline]] void tell_link_address(const NicState& nic, const wire::PacketView& packet, Completion& completion) {
  const PortConfig& port = nic.config.port(nic.arrival_port);
  const wire::PathAddress from = packet.network().last_hop();
  const std::uint32_t path_mask = (1u << port.lmc) - 1;
  completion.service_level = from.service_level();
  completion.flow_tag = from.lid().value();
  completion.is_from_lid = true;
  completion.path_bits = packet.network().local_destination().value() & path_mask & 0x7f;
}

}  // namespace

Sent send_datagram(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  SendQueue& queue = qp.send_queue;
  if (queue.next == queue.tail || (qp.state != QpState::rts && qp.state != QpState::sqd)) return Sent::nothing;
  if (qp.state == QpState::sqd) return Sent::nothing;
  SendWork& work = queue.at(queue.next);
  AddressHandle* ah = nic.address_handles.find(work.address_handle);
  // As one of another domain (verbs/post.cc): an address handle of another port is found when the work is taken up.
  if (work.status == CompletionStatus::success && (ah == nullptr || ah->address_vector.port != qp.attributes.port))
    work.status = CompletionStatus::local_qp_operation_error;
  if (work.status != CompletionStatus::success) {
    retire(nic, qp);
    return Sent::nothing;
  }
  if (ah->static_bits_per_second != 0 && !pace_allows(nic, qp, now)) [[unlikely]]
    return Sent::nothing;
  const bool comes_back = loops_back(nic, ah->address_vector.destination);
  if (comes_back && nic.steering.looped.full()) return Sent::blocked;
  const wire::Opcode opcode = datagram_opcode(work);
  const std::span<std::byte> room =
      port.reserve({ah->address_vector.destination, work.remote_qpn, ah->route_hint, &ah->frame_template},
                   wire::frame_bytes(ah->frame_template, opcode, work.length));
  if (room.empty()) return Sent::blocked;
  wire::Bth bth;
  bth.opcode = opcode;
  bth.dest_qp = work.remote_qpn;
  bth.psn = qp.requester.next_psn;
  bth.pkey = qp.pkey;
  bth.solicited = work.solicited;
  wire::PacketBuilder builder(room, ah->frame_template, bth, work.length, port.icrc_wanted());
  builder.append(
      wire::Deth{(work.remote_qkey & kPrivilegedQkey) != 0 ? qp.attributes.qkey : work.remote_qkey, 0, qp.qpn});
  if (work.opcode == SendOpcode::send_with_immediate) builder.append(wire::ImmDt{work.immediate});
  if (work.length > 0 && !gather_payload(nic, qp, queue.next, 0, work.length, builder)) {
    port.cancel();
    if (waits_for_pages(nic, qp)) return Sent::nothing;
    work.status = CompletionStatus::local_protection_error;
    retire(nic, qp);
    return Sent::nothing;
  }
  const std::size_t bytes = builder.finish();
  if (comes_back) nic.steering.looped.push(qp.qpn, room.first(bytes));
  port.commit(bytes, port.icrc_wanted());
  qp.counters->add(Counter::tx_packets);
  qp.counters->add(Counter::tx_bytes, bytes);
  if (ah->static_bits_per_second != 0) [[unlikely]]
    charge_static_rate(qp, now, bytes, ah->static_bits_per_second);
  Requester& requester = qp.requester;
  ++requester.next_psn;
  requester.una_psn = requester.sent_psn = requester.next_psn;
  ++queue.next;
  retire(nic, qp);
  return Sent::packet;
}

void receive_datagram(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  if (!packet.opcode().has_deth) {
    nic.arrival_counters->add(Counter::rx_dropped_wrong_transport);
    return;
  }
  if (!qkey_matches(qp, packet)) {
    nic.refuse_key(packet, Counter::rx_dropped_qkey);
    return;
  }
  if (packet.payload().size() > nic.config.port_mtu_bytes || !take_receive(nic, qp)) {
    nic.arrival_counters->add(Counter::ud_dropped_no_receive);
    return;
  }
  const auto grh = wire::grh_area(packet);
  const auto bytes = static_cast<std::uint32_t>(grh.size() + packet.payload().size());
  if (bytes > receive_room(qp)) {
    nic.arrival_counters->add(Counter::ud_dropped_no_receive);
    return drop_long_message(nic, qp, packet.bth().solicited);
  }
  Completion completion;
  completion.wr_id = qp.responder.receive_wr_id;
  completion.opcode = CompletionOpcode::receive;
  // On InfiniBand a packet has a service level, and no GRH within a subnet. RoCE always has a GRH and no service level:
  // ConnectX reports the kind of header in its place, and programs that support several (UCX) tell by it where in the
  // GRH area the address lies.
  const bool is_infiniband = &packet.network().encapsulation() == &wire::kInfiniBand;
  completion.has_grh = !is_infiniband || packet.network().places().network_bytes != 0;
  if (is_infiniband) {
    tell_link_address(nic, packet, completion);
  } else {
    completion.service_level = static_cast<std::uint8_t>(packet.network().header());
  }
  completion.source_qpn = packet.deth().source_qp;
  completion.has_immediate = packet.opcode().has_immediate;
  if (completion.has_immediate) completion.immediate = packet.immediate().data;
  completion.byte_count = bytes;
  if (!scatter_receive(nic, qp, grh) || !scatter_receive(nic, qp, packet.payload())) {
    if (nic.regions.take_pages_due() != kNever) {  // the work request waits on, for the next datagram
      nic.arrival_counters->add(Counter::ud_dropped_no_receive);
      return;
    }
    completion.status = CompletionStatus::local_protection_error;
  }
  nic.arrival_counters->add(Counter::rx_send_requests);
  qp.responder.receive_held = false;
  nic.complete_receive(qp, completion, packet.bth().solicited);
  if (completion.status == CompletionStatus::local_protection_error) nic.enter_error(qp);
}

}  // namespace verbena::nic
