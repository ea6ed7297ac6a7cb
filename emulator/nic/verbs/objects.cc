// Making and ending the NIC's objects: the verbs that change what exists.
// Tested by: tests/nic/queue_test.cc
#include <algorithm>

#include "emulator/nic/nic_private.h"
#include "emulator/nic/objects/object_number.h"
#include "emulator/nic/transport_ib/modify_qp.h"
#include "emulator/nic/transport_ib/xrc.h"

namespace verbena::nic {

VerbsResult<PdHandle> Nic::allocate_pd() {
  if (state_->pds.full()) return Failure{VerbsError::no_memory};
  return state_->pds.create().handle;
}

VerbsResult<void> Nic::deallocate_pd(PdHandle handle) {
  ProtectionDomain* pd = state_->pds.find(handle);
  if (pd == nullptr) return Failure{VerbsError::invalid_argument};
  if (pd->users != 0) return Failure{VerbsError::busy};
  state_->pds.destroy(*pd);
  return {};
}

VerbsResult<AhHandle> Nic::create_ah(PdHandle pd_handle, const AddressVector& address_vector) {
  NicState& nic = *state_;
  ProtectionDomain* pd = nic.pds.find(pd_handle);
  if (pd == nullptr || !has_source(nic.config, address_vector)) return Failure{VerbsError::invalid_argument};
  if (nic.address_handles.full()) nic.sweep_address_handles();
  if (nic.address_handles.full()) return Failure{VerbsError::no_memory};
  AddressHandle& ah = nic.address_handles.create();
  ah.pd = pd_handle;
  ah.address_vector = address_vector;
  const std::uint32_t label = address_vector.flow_label;
  const auto port = static_cast<std::uint16_t>(0xc000 | ((label ^ (label >> 14)) & 0x3fff));
  ah.frame_template = wire::FrameTemplate(nic.frame_path(address_vector, port));
  ah.static_bits_per_second = nic.config.static_rate_of(address_vector);
  ++pd->users;
  return ah.handle;
}

VerbsResult<void> Nic::destroy_ah(AhHandle handle) {
  NicState& nic = *state_;
  AddressHandle* ah = nic.address_handles.find(handle);
  if (ah == nullptr || ah->is_destroyed) return Failure{VerbsError::invalid_argument};
  --nic.pds.find(ah->pd)->users;
  ah->is_destroyed = true;
  nic.destroyed_ahs.push_back(handle);
  nic.sweep_address_handles();
  return {};
}

VerbsResult<CqHandle> Nic::create_cq(std::uint32_t min_entries, std::uint64_t context, bool ignore_overrun,
                                     std::uint32_t number) {
  NicState& nic = *state_;
  if (min_entries == 0 || min_entries > nic.config.limits.max_cqe) return Failure{VerbsError::invalid_argument};
  if (nic.cqs.full()) return Failure{VerbsError::no_memory};
  CompletionQueue& cq = nic.cqs.create();
  cq.context = context;
  cq.number = number;
  cq.set_entries(min_entries);
  if (ignore_overrun) cq.ignore_overrun();
  return cq.handle;
}

VerbsResult<CqAttributes> Nic::query_cq(CqHandle handle) const {
  const CompletionQueue* cq = state_->cqs.find(handle);
  if (cq == nullptr) return Failure{VerbsError::invalid_argument};
  return CqAttributes{.entries = cq->entries(), .depth = cq->depth()};
}

VerbsResult<void> Nic::resize_cq(CqHandle handle, std::uint32_t min_entries) {
  CompletionQueue* cq = state_->cqs.find(handle);
  if (cq == nullptr || min_entries == 0 || min_entries > state_->config.limits.max_cqe || !cq->resize(min_entries))
    return Failure{VerbsError::invalid_argument};
  return {};
}

VerbsResult<void> Nic::destroy_cq(CqHandle handle) {
  NicState& nic = *state_;
  CompletionQueue* cq = nic.cqs.find(handle);
  if (cq == nullptr) return Failure{VerbsError::invalid_argument};
  if (cq->users != 0) return Failure{VerbsError::busy};
  nic.completion_events.remove_if([&](const CompletionEvent& event) { return event.cq == handle; });
  nic.async_events.remove_if(
      [&](const AsyncEvent& event) { return event.type == AsyncEventType::cq_error && event.object == handle.index; });
  nic.cqs.destroy(*cq);
  return {};
}

VerbsResult<void> Nic::request_notification(CqHandle handle, bool solicited_only) {
  CompletionQueue* cq = state_->cqs.find(handle);
  if (cq == nullptr) return Failure{VerbsError::invalid_argument};
  cq->request_notification(solicited_only);
  return {};
}

VerbsResult<SrqHandle> Nic::create_srq(const SrqInit& init) {
  NicState& nic = *state_;
  const NicLimits& limits = nic.config.limits;
  ProtectionDomain* pd = nic.pds.find(init.pd);
  XrcDomain* domain = nic.xrc_domains.find(init.xrc_domain);
  CompletionQueue* cq = nic.cqs.find(init.cq);
  if ((init.xrc_domain.valid() || init.cq.valid()) && (domain == nullptr || cq == nullptr))
    return Failure{VerbsError::invalid_argument};
  if (pd == nullptr || init.max_wr == 0 || init.max_wr > limits.max_srq_wr || init.max_sge > limits.max_srq_sge)
    return Failure{VerbsError::invalid_argument};
  if (nic.srqs.full()) return Failure{VerbsError::no_memory};
  SharedReceiveQueue& srq = nic.srqs.create();
  srq.pd = init.pd;
  srq.context = init.context;
  srq.limit = init.limit;
  srq.max_sge = std::max(init.max_sge, 1u);
  srq.queue.allocate(init.max_wr, srq.max_sge);
  ++pd->users;
  if (domain != nullptr) {
    srq.xrc_domain = domain;
    srq.cq = cq;
    srq.number = number_of(srq.handle);
    ++domain->users;
    ++cq->users;
  }
  return srq.handle;
}

VerbsResult<SrqAttributes> Nic::query_srq(SrqHandle handle) const {
  const SharedReceiveQueue* srq = state_->srqs.find(handle);
  if (srq == nullptr) return Failure{VerbsError::invalid_argument};
  return SrqAttributes{srq->queue.capacity(), srq->max_sge, srq->limit};
}

VerbsResult<void> Nic::modify_srq(SrqHandle handle, std::optional<std::uint32_t> max_wr,
                                  std::optional<std::uint32_t> limit) {
  NicState& nic = *state_;
  SharedReceiveQueue* srq = nic.srqs.find(handle);
  if (srq == nullptr) return Failure{VerbsError::invalid_argument};
  const std::uint32_t capacity = max_wr.value_or(srq->queue.capacity());
  if (capacity < srq->queue.used() || capacity == 0 || capacity > nic.config.limits.max_srq_wr ||
      limit.value_or(0) > capacity)
    return Failure{VerbsError::invalid_argument};
  if (max_wr) srq->queue.grow(capacity);
  if (limit) {
    srq->limit = *limit;
    if (*limit != 0 && srq->queue.depth() < *limit) {  // already below: the event comes at once
      srq->limit = 0;
      nic.raise(AsyncEventType::srq_limit_reached, srq->handle.index, srq->context);
    }
  }
  return {};
}

VerbsResult<void> Nic::destroy_srq(SrqHandle handle) {
  NicState& nic = *state_;
  SharedReceiveQueue* srq = nic.srqs.find(handle);
  if (srq == nullptr) return Failure{VerbsError::invalid_argument};
  if (srq->users != 0) return Failure{VerbsError::busy};
  nic.async_events.remove_if([&](const AsyncEvent& event) {
    return (event.type == AsyncEventType::srq_limit_reached || event.type == AsyncEventType::srq_error) &&
           event.object == handle.index;
  });
  if (srq->xrc_domain != nullptr) {
    forget_srq(nic, *srq);
    --srq->xrc_domain->users;
    --srq->cq->users;
  }
  --nic.pds.find(srq->pd)->users;
  nic.srqs.destroy(*srq);
  return {};
}

namespace {
bool capabilities_fit(const NicLimits& limits, const QpCapabilities& wanted) {
  return wanted.max_send_wr <= limits.max_qp_wr && wanted.max_recv_wr <= limits.max_qp_wr &&
         wanted.max_send_sge <= limits.max_sge && wanted.max_recv_sge <= limits.max_sge &&
         wanted.max_inline_data <= limits.max_inline_bytes;
}

bool names_qp(const AsyncEvent& event, std::uint32_t index) {
  return scope_of(event.type) == EventScope::qp && event.object == index;
}
}  // namespace

namespace {

/// The objects that a QP is made of; null: not named, or unknown.
struct QpParts {
  ProtectionDomain* pd;
  CompletionQueue* send_cq;
  CompletionQueue* recv_cq;
  SharedReceiveQueue* srq;
  XrcDomain* xrc_domain;
  IndirectionTable* table;
};

QpParts parts_of(const NicState& nic, const QpInit& init) {
  return {nic.pds.find(init.pd),
          nic.cqs.find(init.send_cq),
          nic.cqs.find(init.recv_cq),
          nic.srqs.find(init.srq),
          nic.xrc_domains.find(init.xrc_domain),
          nic.indirection_tables.find(init.indirection_table)};
}

/// Drops what the service does not have, and says whether what it needs is there.
bool complete_parts(const QpInit& init, const Service& service, QpParts& parts) {
  const bool spreads = parts.table != nullptr;
  if (init.indirection_table.valid() && !(spreads && service.takes_indirection_table)) return false;
  const bool srq_fits = parts.srq != nullptr && parts.srq->xrc_domain == nullptr && service.takes_srq && !spreads;
  if (init.srq.valid() && !srq_fits) return false;
  if (!service.has_send_queue) parts.send_cq = nullptr;
  if (!service.has_receive_cq) parts.recv_cq = nullptr;
  if (service.names_srq) {
    parts.pd = nullptr;
    return parts.xrc_domain != nullptr;
  }
  parts.xrc_domain = nullptr;
  const bool has_queues =
      (parts.send_cq != nullptr || !service.has_send_queue) && (parts.recv_cq != nullptr || !service.has_receive_cq);
  return parts.pd != nullptr && (has_queues || spreads);
}

bool has_receive_queue(const QpParts& parts) {
  return parts.srq == nullptr && parts.table == nullptr && parts.recv_cq != nullptr;
}

/// What is asked of a queue that the QP does not have is ignored, however much it is: ibv_create_qp(3) of an SRQ,
/// create_qp in uverbs_cmd.c of XRC.
void ignore_other_queues(QpCapabilities& wanted, const QpParts& parts) {
  if (!has_receive_queue(parts)) wanted.max_recv_wr = wanted.max_recv_sge = 0;
  if (parts.send_cq == nullptr) wanted.max_send_wr = wanted.max_send_sge = wanted.max_inline_data = 0;
}

void adopt(Qp& qp, QpInit& init, const QpParts& parts, const NicLimits& limits) {
  qp.has_receive_queue = has_receive_queue(parts);
  QpCapabilities& granted = init.capabilities;
  // Inline data lies in the place of the list, which is there anyway.
  const auto list_bytes = static_cast<std::uint32_t>(granted.max_send_sge * sizeof(Sge));
  granted.max_inline_data = std::max(granted.max_inline_data, std::min(list_bytes, limits.max_inline_bytes));
  qp.send_cq = parts.send_cq;
  qp.recv_cq = parts.recv_cq;
  qp.srq = parts.srq;
  qp.xrc_domain = parts.xrc_domain;
  if (parts.pd != nullptr) ++parts.pd->users;
  if (parts.send_cq != nullptr) ++parts.send_cq->users;
  if (parts.recv_cq != nullptr) ++parts.recv_cq->users;
  if (parts.srq != nullptr) ++parts.srq->users;
  if (parts.xrc_domain != nullptr) ++parts.xrc_domain->users;
  std::uint32_t sges_max = std::max(init.capabilities.max_recv_sge, 1u);
  if (parts.srq != nullptr) sges_max = parts.srq->max_sge;
  if (qp.service->names_srq) sges_max = std::max(limits.max_srq_sge, 1u);
  qp.held_sges = std::make_unique<Sge[]>(sges_max);
  if (parts.table == nullptr) return;
  ++parts.table->users;
  qp.spread = std::make_unique<ReceiveSpread>(ReceiveSpread{parts.table, init.hash});
}

}  // namespace

Qp::Qp() = default;
Qp::~Qp() = default;

VerbsResult<QpHandle> Nic::create_qp(QpInit& init) {
  NicState& nic = *state_;
  const Service* const service = find_service(init.type);
  QpParts parts = parts_of(nic, init);
  if (service == nullptr || !complete_parts(init, *service, parts)) return Failure{VerbsError::invalid_argument};
  ignore_other_queues(init.capabilities, parts);
  if (!capabilities_fit(nic.config.limits, init.capabilities)) return Failure{VerbsError::invalid_argument};
  if (nic.qps.full()) return Failure{VerbsError::no_memory};
  Qp& qp = nic.qps.create();
  const auto number = nic.qpns.insert(qp);
  if (!number) {
    nic.qps.destroy(qp);
    return Failure{VerbsError::no_memory};
  }
  qp.qpn = *number;
  qp.number = init.number;
  qp.service = service;
  nic.settle_at_port(qp);
  if (parts.pd != nullptr) qp.pd = init.pd;
  qp.context = init.context;
  qp.signal_all = init.signal_all;
  qp.blocks_own_groups = init.blocks_own_groups;
  qp.strips_vlan = init.strips_vlan;
  adopt(qp, init, parts, nic.config.limits);
  qp.attributes.capabilities = init.capabilities;
  qp.send_queue.allocate(init.capabilities.max_send_wr, init.capabilities.max_send_sge,
                         init.capabilities.max_inline_data);
  qp.receive_queue.allocate(init.capabilities.max_recv_wr, init.capabilities.max_recv_sge);
  qp.timer_entry.owner = &qp;
  qp.timer_entry.order = nic.timers_made++;
  nic.timers.reserve(nic.qps.live());
  return qp.handle;
}

wire::Qpn Nic::qpn(QpHandle handle) const {
  const Qp* qp = state_->qps.find(handle);
  return qp != nullptr ? qp->qpn : wire::Qpn{};
}

VerbsResult<void> Nic::modify_qp(QpHandle handle, const QpAttributes& attributes, std::uint32_t mask, Time now) {
  Qp* qp = state_->qps.find(handle);
  if (qp == nullptr) return Failure{VerbsError::invalid_argument};
  return nic::modify_qp(*state_, *qp, attributes, mask, now);
}

VerbsResult<QpAttributes> Nic::query_qp(QpHandle handle) const {
  const Qp* qp = state_->qps.find(handle);
  if (qp == nullptr) return Failure{VerbsError::invalid_argument};
  QpAttributes attributes = qp->attributes;
  attributes.state = attributes.current_state = qp->state;
  attributes.sq_draining = qp->sq_draining;
  // What the queues are at now (IBTA 11.2.5.3).
  if (qp->state != QpState::reset && qp->state != QpState::init) attributes.rq_psn = qp->responder.expected_psn;
  if (qp->state == QpState::rts || qp->state == QpState::sqd) attributes.sq_psn = qp->requester.next_psn;
  return attributes;
}

VerbsResult<void> Nic::destroy_qp(QpHandle handle) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (qp == nullptr) return Failure{VerbsError::invalid_argument};
  if (qp->holders > 1) {
    --qp->holders;
    return {};
  }
  if (qp->attachments != 0) return Failure{VerbsError::busy};
  nic.unschedule(*qp);
  nic.timers.remove(qp->timer_entry);
  nic.purge_completions(*qp);
  nic.async_events.remove_if([&](const AsyncEvent& event) { return names_qp(event, handle.index); });
  nic.qpns.remove(qp->qpn);
  if (qp->xrc_domain != nullptr) {
    --qp->xrc_domain->users;  // what else it has is of the SRQ that the last message named
  } else {
    --nic.pds.find(qp->pd)->users;
    if (qp->send_cq != nullptr) --qp->send_cq->users;
    if (qp->recv_cq != nullptr) --qp->recv_cq->users;
    if (qp->srq != nullptr) --qp->srq->users;
    if (qp->spread != nullptr) --qp->spread->table->users;
  }
  nic.qps.destroy(*qp);
  return {};
}

}  // namespace verbena::nic
