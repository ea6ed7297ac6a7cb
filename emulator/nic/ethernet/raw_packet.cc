// Raw packets: whole Ethernet frames as an application makes them, and the rules that steer what comes to its queues.
#include "emulator/nic/ethernet/raw_packet.h"

#include <algorithm>
#include <cstring>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/groups.h"
#include "emulator/nic/transport_ib/pacing.h"

namespace verbena::nic {
namespace {

/// Where a frame ends up: the receive queue of a QP, or one of its work queues.
struct Target {
  ReceiveQueue* queue = nullptr;
  CompletionQueue* cq = nullptr;
  PdHandle pd;
  wire::Qpn number;
  bool strips_vlan = false;
  SlotOwner slot_owner = SlotOwner::receive_queue;
  std::uint32_t slot = 0;
};

Target target_of(Qp& qp, const FlowFields& fields) {
  if (qp.spread == nullptr) {
    if (!qp.accepts_packets()) return {};
    if (qp.srq != nullptr)
      return {&qp.srq->queue,      qp.recv_cq, qp.srq->pd, qp.qpn, qp.strips_vlan, SlotOwner::shared_receive_queue,
              qp.srq->handle.index};
    return {&qp.receive_queue, qp.recv_cq, qp.pd, qp.qpn, qp.strips_vlan, SlotOwner::receive_queue};
  }
  const auto& queues = qp.spread->table->queues;
  WorkQueue& queue = *queues[receive_hash(qp.spread->hash, fields) & (queues.size() - 1)];
  if (queue.state != WorkQueueState::ready) return {};
  return {&queue.queue, queue.cq, queue.pd, queue.number, queue.strips_vlan, SlotOwner::work_queue, queue.handle.index};
}

/// Copies pieces, one after another, into a list of SGEs. False: a local protection error.
bool scatter(NicState& nic, PdHandle pd, std::span<const Sge> sges, std::span<const std::byte> piece,
             std::uint64_t offset) {
  for (const Sge& sge : sges) {
    if (piece.empty()) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::size_t part = std::min<std::size_t>(piece.size(), sge.length - offset);
    const Translation to = nic.regions.translate(sge.lkey, pd, QpHandle{}, sge.address + offset, part, kLocalWrite);
    if (!to || !to.memory->write(to.address, piece.first(part))) return false;
    piece = piece.subspan(part);
    offset = 0;
  }
  return true;
}

void deliver(NicState& nic, const Target& target, std::span<const std::byte> frame, const FlowFields& fields,
             std::uint32_t tag) {
  if (target.queue == nullptr || target.queue->empty()) {
    nic.arrival_counters->add(Counter::rx_dropped_no_buffer);
    return;
  }
  constexpr std::size_t kMacBytes = 12;
  const bool strips = target.strips_vlan && fields.is_tagged != 0;
  const std::span<const std::byte> head = frame.first(strips ? kMacBytes : frame.size());
  const std::span<const std::byte> rest = frame.subspan(strips ? kMacBytes + kVlanBytes : frame.size());
  const ReceiveRequest receive = target.queue->front();
  Completion completion;
  completion.wr_id = receive.wr_id;
  completion.opcode = CompletionOpcode::receive;
  completion.qpn = target.number;
  completion.slot_owner = target.slot_owner;
  completion.slot = target.slot;
  completion.flow_tag = tag;
  completion.byte_count = static_cast<std::uint32_t>(head.size() + rest.size());
  if (strips) completion.immediate = static_cast<std::uint32_t>(fields.vlan_tag[0] << 8 | fields.vlan_tag[1]);
  std::uint64_t room = 0;
  for (const Sge& sge : receive.sges) room += sge.length;
  if (completion.byte_count > room)
    completion.status = CompletionStatus::local_length_error;
  else if (!scatter(nic, target.pd, receive.sges, head, 0) ||
           !scatter(nic, target.pd, receive.sges, rest, head.size())) {
    if (nic.regions.take_pages_due() != kNever) {
      nic.arrival_counters->add(Counter::rx_dropped_no_buffer);
      return;
    }
    completion.status = CompletionStatus::local_protection_error;
  }
  target.queue->pop();
  nic.complete(*target.cq, completion, false, *nic.arrival_counters);
}

bool is_for_us(const NicState& nic, const FlowFields& fields) {
  return fields.destination_mac == nic.config.port(nic.arrival_port).mac.octets || is_group_mac(fields.destination_mac);
}

/// A rule that does not say which MAC it wants takes what a NIC takes that is not promiscuous.
bool takes(const NicState& nic, const Flow& flow, const FlowFields& fields) {
  const FlowInit& init = flow.init;
  if (init.port != nic.arrival_port) return false;
  const bool names_mac = init.mask.destination_mac != std::array<std::uint8_t, 6>{};
  if (!names_mac && !is_for_us(nic, fields)) return false;
  switch (init.type) {
    case FlowType::normal:
      return matches(fields, init.value, init.mask);
    case FlowType::all_default:
      return true;
    case FlowType::group_default:
      return is_group_mac(fields.destination_mac);
    case FlowType::sniffer:
      return false;
  }
  return false;
}

void apply(NicState& nic, Flow& flow, std::span<const std::byte> frame, const FlowFields& fields, wire::Qpn sender) {
  if (flow.qp->blocks_own_groups && flow.qp->qpn == sender) return;
  if (flow.counters != nullptr) {
    ++flow.counters->count.packets;
    flow.counters->count.bytes += frame.size();
  }
  if (!flow.init.drops) deliver(nic, target_of(*flow.qp, fields), frame, fields, flow.init.tag);
}

/// Rules that say the same take the frame together.
bool says_the_same(const FlowInit& a, const FlowInit& b) {
  return a.type == b.type && a.priority == b.priority && a.value == b.value && a.mask == b.mask;
}

/// The octets of a work request, in its order. False: a local protection error.
bool gather_frame(NicState& nic, Qp& qp, const SendWork& work, std::span<std::byte> into) {
  SendQueue& queue = qp.send_queue;
  if (work.inline_data) {
    std::ranges::copy(queue.inline_data(queue.next).first(work.length), into.begin());
    return true;
  }
  for (const Sge& sge : queue.sges(queue.next).first(work.sge_count)) {
    if (sge.length == 0) continue;
    const Translation from = nic.regions.translate(sge.lkey, qp.pd, qp.handle, sge.address, sge.length, 0);
    if (!from || !from.memory->read(from.address, into.first(sge.length))) return false;
    into = into.subspan(sge.length);
  }
  return true;
}

/// Whether the NIC itself has rules for the frame: groups, and its own address, come back.
bool comes_back(const NicState& nic, const Qp& qp, std::span<const std::byte> frame) {
  if (nic.steering.rules.empty() && nic.steering.sniffers == 0) return false;
  std::array<std::uint8_t, 6> destination{};
  std::memcpy(destination.data(), frame.data(), destination.size());
  return is_group_mac(destination) || destination == nic.config.port(qp.attributes.port).mac.octets;
}

Sent send_raw(NicState& nic, Qp& qp, TransmitPort& port) {
  SendQueue& queue = qp.send_queue;
  if (queue.next == queue.tail || qp.state != QpState::rts) return Sent::nothing;
  SendWork& work = queue.at(queue.next);
  if (work.status != CompletionStatus::success) {
    retire(nic, qp);
    return Sent::nothing;
  }
  if (nic.steering.looped.full()) return Sent::blocked;
  // The link floods it: which node has an Ethernet address, only that node knows.
  static constexpr wire::Gid kEverybody{};
  const std::span<std::byte> room =
      port.reserve({kEverybody, wire::kMulticastQpn, qp.route_hint, &qp.frame_template}, work.length);
  if (room.empty()) return Sent::blocked;
  const std::span<std::byte> frame = room.first(work.length);
  if (!gather_frame(nic, qp, work, frame)) {
    port.cancel();
    if (waits_for_pages(nic, qp)) return Sent::nothing;
    work.status = CompletionStatus::local_protection_error;
    retire(nic, qp);
    return Sent::nothing;
  }
  if (comes_back(nic, qp, frame)) nic.steering.looped.push(qp.qpn, frame);
  port.commit(work.length, wire::IcrcState::present);  // the application's own
  qp.counters->add(Counter::tx_packets);
  qp.counters->add(Counter::tx_bytes, work.length);
  Requester& requester = qp.requester;
  requester.next_psn = work.first_psn + work.packets;
  requester.una_psn = requester.sent_psn = requester.next_psn;
  ++queue.next;
  retire(nic, qp);
  return Sent::packet;
}

}  // namespace

bool receive_ethernet(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender) {
  const auto fields = fields_of(frame);
  if (!fields) return false;
  if (nic.steering.sniffers != 0) sniff(nic, frame, sender);
  const Flow* first = nullptr;
  for (Flow* flow : nic.steering.rules) {
    if (first != nullptr && !first->init.goes_on && !says_the_same(first->init, flow->init)) break;
    if (!takes(nic, *flow, *fields)) continue;
    apply(nic, *flow, frame, *fields, sender);
    if (first == nullptr || first->init.goes_on) first = flow;
  }
  if (first == nullptr) nic.arrival_counters->add(Counter::rx_dropped_no_rule);
  return true;
}

void sniff(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender) {
  const auto fields = fields_of(frame);
  if (!fields) return;
  for (Flow* flow : nic.steering.rules)
    if (flow->init.type == FlowType::sniffer && flow->init.port == nic.arrival_port)
      apply(nic, *flow, frame, *fields, sender);
}

void sniff_received(NicState& nic, std::span<const std::byte> frame, wire::IcrcState icrc) {
  if (icrc != wire::IcrcState::deferred) return sniff(nic, frame, {});
  wire::CompletedFrame completed;
  sniff(nic, completed.copy_of(frame), {});
}

Sent transmit_raw(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  if (qp.pace.bits_per_second == 0) return send_raw(nic, qp, port);
  if (!pace_allows(nic, qp, now)) return Sent::nothing;
  const std::uint64_t bytes_before = qp.counters->get(Counter::tx_bytes);
  const Sent sent = send_raw(nic, qp, port);
  charge_pace(qp, now, qp.counters->get(Counter::tx_bytes) - bytes_before);
  return sent;
}

void deliver_looped(NicState& nic) {
  LoopedFrames& looped = nic.steering.looped;
  const std::uint8_t arrival_port = nic.arrival_port;
  for (std::size_t i = 0; i < looped.count(); ++i) {
    const LoopedFrames::Frame frame = looped.at(i);
    if (const Qp* const sender = nic.qpns.find(frame.sender)) nic.arrive_by(sender->attributes.port);
    if (const auto packet = wire::parse_frame(frame.octets); packet)
      receive_group(nic, *packet, frame.sender);
    else
      receive_ethernet(nic, frame.octets, frame.sender);
  }
  nic.arrive_by(arrival_port);
  looped.clear();
}

}  // namespace verbena::nic
