#include "emulator/nic/state/nic_state.h"

#include <algorithm>

#include "emulator/nic/state/slots.h"
#include "wire/assert.h"

namespace verbena::nic {

NicState::NicState(const NicConfig& nic_config, Memory& app_memory, const PortCounters& nic_counters,
                   const RecoveryRow& recovery)
    : arrival_counters(&nic_counters.of(1)),
      memory_has_octets(app_memory.has_octets()),
      loss_recovery(recovery),
      extensions(static_cast<std::uint8_t>(recovery.extensions |
                                           (nic_config.congestion.wants().telemetry ? wire::kHasTelemetry : 0))),
      qpns(nic_config.qpn_base, nic_config.qpn_bits, nic_config.seed),
      regions(app_memory, nic_config.limits, nic_config.seed, nic_counters.of(1), nic_config.page_fault_delay, now),
      config(nic_config),
      counters(nic_counters),
      pds(nic_config.limits.max_pd),
      address_handles(nic_config.limits.max_ah),
      cqs(nic_config.limits.max_cq),
      srqs(nic_config.limits.max_srq),
      xrc_domains(nic_config.limits.max_xrc_domains),
      work_queues(nic_config.limits.max_work_queues),
      indirection_tables(nic_config.limits.max_indirection_tables),
      flow_counters(nic_config.limits.max_flow_counters),
      flows(nic_config.limits.max_flows),
      qps(nic_config.limits.max_qp) {
  if (config.port_count > 1) ++examinations;
  if (!config.is_roce_v2_alone()) ++examinations;
  if (config.completion_judge != nullptr)
    planned = std::make_unique<PlannedCompletions>(*config.completion_judge, moderation_deadline);
  if (config.cnp_interval.ns != 0) notices.reserve(kNoticesMax);
  if (config.congestion.cnp_scope == CnpScope::destination) told.reserve(kNoticesMax);
}

void NicState::unschedule(Qp& qp) {
  const auto held_end = held.begin() + held_count;
  held_count = static_cast<std::uint32_t>(std::remove(held.begin(), held_end, &qp) - held.begin());
  if (&qp == ready.first()) turn_left = 0;
  ready.remove(qp);
}

bool NicState::hold(Qp& qp) {
  if (!may_hold || !qp.responder.owes_only_acknowledgement()) return false;
  const auto held_end = held.begin() + held_count;
  if (std::find(held.begin(), held_end, &qp) != held_end) return true;
  if (held_count == held.size()) return false;
  held[held_count++] = &qp;
  return true;
}

void NicState::release_held() {
  for (std::uint32_t i = 0; i < held_count; ++i) ready.push_back(*held[i]);
  held_count = 0;
}

void NicState::end_moderation(Time at) {
  moderation_deadline = kNever;
  cqs.for_each([&](CompletionQueue& cq) {
    if (cq.notify_at() <= at) {
      cq.end_moderation();
      completion_events.push({cq.handle, cq.context});
    }
    moderation_deadline = std::min(moderation_deadline, cq.notify_at());
  });
  if (planned != nullptr) planned->run(*this, at);
}

namespace {
void fail_queue(NicState& nic, CompletionQueue& cq) {
  nic.raise(AsyncEventType::cq_error, cq.handle.index, cq.context);
  nic.qps.for_each([&](Qp& qp) {
    if ((qp.send_cq == &cq || qp.recv_cq == &cq) && qp.state != QpState::reset && qp.state != QpState::error) {
      nic.raise(AsyncEventType::qp_fatal, qp);
      nic.enter_error(qp);
    }
  });
}
}  // namespace

void NicState::store(CompletionQueue& cq, const Completion& completion, bool solicited, Counters& of_port) {
  of_port.add(Counter::completions);
  ++news;
  switch (cq.push(completion, now, solicited || completion.status != CompletionStatus::success)) {
    case CompletionQueue::Push::stored:
      break;
    case CompletionQueue::Push::notify:
      completion_events.push({cq.handle, cq.context});
      break;
    case CompletionQueue::Push::delayed:
      moderation_deadline = std::min(moderation_deadline, cq.notify_at());
      break;
    case CompletionQueue::Push::overrun_again:
      break;
    case CompletionQueue::Push::overrun_first:
      fail_queue(*this, cq);
      break;
  }
}

void NicState::overrun(CompletionQueue& cq) {
  if (cq.fail()) fail_queue(*this, cq);
}

namespace {
CompletionOpcode completion_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::send:
    case SendOpcode::send_with_immediate:
    case SendOpcode::send_with_invalidate:
      return CompletionOpcode::send;
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
      return CompletionOpcode::rdma_write;
    case SendOpcode::rdma_read:
      return CompletionOpcode::rdma_read;
    case SendOpcode::compare_and_swap:
      return CompletionOpcode::compare_and_swap;
    case SendOpcode::fetch_and_add:
      return CompletionOpcode::fetch_and_add;
    case SendOpcode::local_invalidate:
      return CompletionOpcode::local_invalidate;
    case SendOpcode::bind_memory_window:
      return CompletionOpcode::bind_memory_window;
    case SendOpcode::atomic_write:
      return CompletionOpcode::atomic_write;
  }
  return CompletionOpcode::send;
}
}  // namespace

void NicState::complete_send(Qp& qp, const SendWork& work, CompletionStatus status) {
  if (status == CompletionStatus::success && !work.signaled && !qp.signal_all) return;
  Completion completion;
  completion.wr_id = work.wr_id;
  completion.status = status;
  completion.opcode = completion_opcode(work.opcode);
  completion.byte_count = work.length;
  completion.qpn = qp.qpn;
  completion.slot_owner = SlotOwner::send_queue;
  completion.slot = qp.send_queue.head;
  complete(*qp.send_cq, completion, false, *qp.counters);
}

void NicState::complete_receive(Qp& qp, Completion completion, bool solicited) {
  completion.qpn = qp.qpn;
  if (qp.service->is_connected) completion.source_qpn = qp.attributes.dest_qpn;
  if (qp.srq == nullptr) {
    completion.slot_owner = SlotOwner::receive_queue;
  } else {
    completion.slot_owner = SlotOwner::shared_receive_queue;
    completion.slot = qp.srq->handle.index;
  }
  complete(*qp.recv_cq, completion, solicited, *qp.counters);
}

void NicState::raise(AsyncEventType type, std::uint32_t object, std::uint64_t context, Counters& of_port) {
  of_port.add(Counter::async_events);
  ++news;
  async_events.push({type, object, context});
}

void NicState::purge_completions(const Qp& qp) {
  const auto is_of_qp = [&](const Completion& completion) {
    const bool is_of_work_queue = completion.slot_owner == SlotOwner::work_queue && completion.slot != kNoSlot;
    if (completion.qpn != qp.qpn || is_of_work_queue) return false;
    if (completion.slot_owner != SlotOwner::shared_receive_queue) return true;
    if (qp.srq == nullptr || completion.slot != qp.srq->handle.index) return false;
    SlotFreeing(*this).free(completion);  // the SRQ lives on
    return true;
  };
  if (planned != nullptr) planned->remove_if(is_of_qp);
  if (qp.send_cq != nullptr) qp.send_cq->remove_if(is_of_qp);
  if (qp.recv_cq != nullptr && !qp.service->names_srq) qp.recv_cq->remove_if(is_of_qp);
}

namespace {
bool is_to_be_sent(NicState& nic, AhHandle handle) {
  bool found = false;
  nic.qps.for_each([&](Qp& qp) {
    if (qp.service->type != QpType::ud) return;
    for (std::uint32_t i = qp.send_queue.next; i != qp.send_queue.tail; ++i)
      found = found || qp.send_queue.at(i).address_handle == handle;
  });
  return found;
}
}  // namespace

void NicState::sweep_address_handles() {
  std::erase_if(destroyed_ahs, [this](AhHandle handle) {
    if (is_to_be_sent(*this, handle)) return false;
    address_handles.destroy(*address_handles.find(handle));
    return true;
  });
}

void NicState::enter_error(Qp& qp) {
  VERBENA_ASSERT(qp.state != QpState::reset || !qp.ready);
  if (qp.state == QpState::error) return;
  qp.enter(QpState::error);
  qp.timers.stop(Timer::ack);
  qp.timers.stop(Timer::rnr);
  // A NAK that is due still leaves, behind the answers that were owed before it.
  if (qp.responder.acknowledge != Responder::Acknowledge::nak) {
    qp.responder.acknowledge = Responder::Acknowledge::none;
    qp.responder.forget_jobs();
  }
  flush_send_queue(qp);
  flush_receive_queue(qp);
  if (qp.srq != nullptr && !qp.service->names_srq) raise(AsyncEventType::qp_last_wqe_reached, qp);
}

void NicState::fail_send_head(Qp& qp, CompletionStatus status) {
  VERBENA_ASSERT(qp.send_queue.head != qp.send_queue.tail && status != CompletionStatus::success);
  const SendWork work = qp.send_queue.at(qp.send_queue.head);
  ++qp.send_queue.head;
  complete_send(qp, work, status);
  if (qp.service->is_reliable) {
    enter_error(qp);
  } else if (qp.state != QpState::error) {
    qp.enter(QpState::sqe);  // IBTA 10.3.1.2.5
    flush_send_queue(qp);
  }
}

void NicState::flush_send_queue(Qp& qp) {
  SendQueue& queue = qp.send_queue;
  while (queue.head != queue.tail) {
    const SendWork work = queue.at(queue.head);
    ++queue.head;
    complete_send(qp, work, CompletionStatus::flushed);
  }
  queue.next = queue.tail;
  qp.requester.next_packet = 0;
  qp.requester.outstanding_reads = 0;
  qp.requester.una_psn = qp.requester.next_psn = qp.requester.sent_psn = qp.requester.post_psn;
}

void NicState::flush_receive_queue(Qp& qp) {
  Completion completion;
  completion.status = CompletionStatus::flushed;
  completion.opcode = CompletionOpcode::receive;
  if (qp.responder.receive_held) {
    qp.responder.receive_held = false;
    completion.wr_id = qp.responder.receive_wr_id;
    complete_receive(qp, completion, false);
  }
  for (; !qp.receive_queue.empty(); qp.receive_queue.pop()) {
    completion.wr_id = qp.receive_queue.front().wr_id;
    complete_receive(qp, completion, false);
  }
}

wire::FramePath NicState::frame_path(const AddressVector& address_vector, std::uint16_t flow_port) const {
  wire::FramePath path;
  const GidEntry& source = config.gids_of(address_vector.port)[address_vector.source_gid_index];
  path.encapsulation = source.encapsulation;
  path.port = address_vector.port;
  path.from = config.port(address_vector.port).address(address_vector.path_bits);
  path.to = address_vector.next_hop;
  path.source = source.gid;
  path.destination = address_vector.destination;
  path.traffic_class = address_vector.traffic_class;
  if ((path.traffic_class & ~wire::kEcnMask) == 0) path.traffic_class |= static_cast<std::uint8_t>(config.dscp << 2);
  // As the kernel does for RoCE (ib_resolve_unicast_gid_dmac): how far a packet goes is its route's matter. Programs
  // ask for a hop limit of 1, which ends at the first router, and mean nothing by it. Of a group they mean its scope.
  constexpr std::uint8_t kRouteHopLimit = 64;
  const bool is_senders = address_vector.destination.is_multicast() && address_vector.hop_limit != 0;
  path.hop_limit = is_senders ? address_vector.hop_limit : kRouteHopLimit;
  path.flow_label = address_vector.flow_label;
  path.udp_source_port = config.udp_source_port != 0 ? config.udp_source_port : flow_port;
  return path;
}

namespace {

/// is_addressee() for any packet.
[[gnu::noinline]] bool is_for_some_gid(const NicState& nic, const wire::PacketView& packet) {
  const wire::Encapsulation& by = packet.network().encapsulation();
  // A packet of InfiniBand without a GRH is for whom its LID says.
  const std::span<const GidEntry> gids = std::span(nic.config.gids).first(nic.config.gid_count);
  if (&by == &wire::kInfiniBand) {
    const wire::Gid to = packet.destination();
    if (const auto lid = wire::lid_of(to)) return nic.config.port(nic.arrival_port).has_lid(*lid);
    return has_infiniband_gid(gids, to) || (to.is_multicast() && nic.takes(by));
  }
  for (const GidEntry& own : gids)
    if (own.encapsulation == &by && packet.network().is_to(own.gid)) return true;
  return packet.destination().is_multicast() && nic.takes(by);
}

}  // namespace

bool NicState::is_addressee(const wire::PacketView& packet) const {
  if (!packet.network().is_roce_v2_ipv4()) return is_for_some_gid(*this, packet);
  // Where there are GIDs of another version, the packet was examined (Nic::receive).
  for (std::uint8_t i = 0; i < config.gid_count; ++i)
    if (packet.network().is_to(config.gids[i].gid)) return true;
  return packet.destination().is_multicast();
}

bool NicState::takes(const wire::Encapsulation& encapsulation) const {
  return std::ranges::any_of(std::span(config.gids).first(config.gid_count),
                             [&](const GidEntry& own) { return own.encapsulation == &encapsulation; });
}

void NicState::refuse_key(const wire::PacketView& packet, Counter why) {
  arrival_counters->add(why);
  if (management != nullptr && &packet.network().encapsulation() == &wire::kInfiniBand)
    management->key_refused(arrival_port, packet, why == Counter::rx_dropped_qkey);
}

}  // namespace verbena::nic
