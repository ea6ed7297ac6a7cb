// Making and ending what raw packets need: work queues, indirection tables, flow counters, flows.
// Tested by: tests/nic/raw_packet_test.cc
#include <algorithm>
#include <bit>

#include "emulator/nic/nic_private.h"
#include "emulator/nic/objects/object_number.h"
#include "emulator/nic/state/slots.h"

namespace verbena::nic {
namespace {

/// Normal rules by priority, then the defaults; what was made first comes first.
bool comes_before(const Flow* a, const Flow* b) {
  const auto rank = [](const Flow& flow) { return flow.init.type == FlowType::normal ? 0 : 1; };
  if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
  if (a->init.priority != b->init.priority) return a->init.priority < b->init.priority;
  return a->order < b->order;
}

void flush(NicState& nic, WorkQueue& queue) {
  Completion completion;
  completion.status = CompletionStatus::flushed;
  completion.opcode = CompletionOpcode::receive;
  completion.qpn = queue.number;
  completion.slot_owner = SlotOwner::work_queue;
  completion.slot = queue.handle.index;
  for (; !queue.queue.empty(); queue.queue.pop()) {
    completion.wr_id = queue.queue.front().wr_id;
    nic.complete(*queue.cq, completion, false, nic.counters.of(1));
  }
}

/// It ends or is reset.
void purge_completions(NicState& nic, WorkQueue& queue) {
  const auto is_of_queue = [&](const Completion& completion) {
    return completion.slot_owner == SlotOwner::work_queue && completion.slot == queue.handle.index;
  };
  if (nic.planned != nullptr) nic.planned->remove_if(is_of_queue);
  queue.cq->remove_if(is_of_queue);
}

}  // namespace

VerbsResult<WorkQueueHandle> Nic::create_work_queue(const WorkQueueInit& init) {
  NicState& nic = *state_;
  const NicLimits& limits = nic.config.limits;
  ProtectionDomain* pd = nic.pds.find(init.pd);
  CompletionQueue* cq = nic.cqs.find(init.cq);
  if (pd == nullptr || cq == nullptr || init.max_wr == 0 || init.max_wr > limits.max_qp_wr ||
      init.max_sge > limits.max_sge)
    return Failure{VerbsError::invalid_argument};
  if (nic.work_queues.full()) return Failure{VerbsError::no_memory};
  WorkQueue& queue = nic.work_queues.create();
  queue.pd = init.pd;
  queue.cq = cq;
  queue.number = number_of(queue.handle);
  queue.context = init.context;
  queue.max_sge = std::max(init.max_sge, 1u);
  queue.strips_vlan = init.strips_vlan;
  queue.queue.allocate(init.max_wr, queue.max_sge);
  ++pd->users;
  ++cq->users;
  return queue.handle;
}

wire::Qpn Nic::work_queue_number(WorkQueueHandle handle) const {
  const WorkQueue* queue = state_->work_queues.find(handle);
  return queue != nullptr ? queue->number : wire::Qpn{};
}

VerbsResult<WorkQueueState> Nic::work_queue_state(WorkQueueHandle handle) const {
  const WorkQueue* queue = state_->work_queues.find(handle);
  if (queue == nullptr) return Failure{VerbsError::invalid_argument};
  return queue->state;
}

VerbsResult<void> Nic::modify_work_queue(WorkQueueHandle handle, WorkQueueState to) {
  NicState& nic = *state_;
  WorkQueue* queue = nic.work_queues.find(handle);
  // The man page of ibv_modify_wq: reset to ready, ready to error, anything to reset.
  if (queue == nullptr || (to == WorkQueueState::ready && queue->state == WorkQueueState::error) ||
      (to == WorkQueueState::error && queue->state == WorkQueueState::reset))
    return Failure{VerbsError::invalid_argument};
  queue->state = to;
  switch (to) {
    case WorkQueueState::reset:
      queue->queue.clear();
      purge_completions(nic, *queue);
      break;
    case WorkQueueState::error:
      flush(nic, *queue);
      break;
    case WorkQueueState::ready:
      break;
  }
  return {};
}

VerbsResult<void> Nic::post_work_queue_receive(WorkQueueHandle handle, const ReceiveRequest& request) {
  NicState& nic = *state_;
  WorkQueue* queue = nic.work_queues.find(handle);
  if (queue == nullptr || request.sges.size() > queue->max_sge || queue->state == WorkQueueState::reset)
    return Failure{VerbsError::invalid_argument};
  if (queue->queue.full()) return refuse_post(nic.counters.of(1), queue->queue.done());
  queue->queue.push(request);
  if (queue->state == WorkQueueState::error) flush(nic, *queue);
  return {};
}

VerbsResult<void> Nic::destroy_work_queue(WorkQueueHandle handle) {
  NicState& nic = *state_;
  WorkQueue* queue = nic.work_queues.find(handle);
  if (queue == nullptr) return Failure{VerbsError::invalid_argument};
  if (queue->users != 0) return Failure{VerbsError::busy};
  purge_completions(nic, *queue);
  --queue->cq->users;
  --nic.pds.find(queue->pd)->users;
  nic.work_queues.destroy(*queue);
  return {};
}

VerbsResult<IndirectionTableHandle> Nic::create_indirection_table(std::span<const WorkQueueHandle> queues) {
  NicState& nic = *state_;
  if (!std::has_single_bit(queues.size()) || queues.size() > nic.config.limits.max_indirection_table_size)
    return Failure{VerbsError::invalid_argument};
  for (const WorkQueueHandle queue : queues)
    if (nic.work_queues.find(queue) == nullptr) return Failure{VerbsError::invalid_argument};
  if (nic.indirection_tables.full()) return Failure{VerbsError::no_memory};
  IndirectionTable& table = nic.indirection_tables.create();
  for (const WorkQueueHandle handle : queues) {
    WorkQueue* queue = nic.work_queues.find(handle);
    ++queue->users;
    table.queues.push_back(queue);
  }
  return table.handle;
}

VerbsResult<void> Nic::destroy_indirection_table(IndirectionTableHandle handle) {
  NicState& nic = *state_;
  IndirectionTable* table = nic.indirection_tables.find(handle);
  if (table == nullptr) return Failure{VerbsError::invalid_argument};
  if (table->users != 0) return Failure{VerbsError::busy};
  for (WorkQueue* queue : table->queues) --queue->users;
  nic.indirection_tables.destroy(*table);
  return {};
}

VerbsResult<FlowCountersHandle> Nic::create_flow_counters() {
  if (state_->flow_counters.full()) return Failure{VerbsError::no_memory};
  return state_->flow_counters.create().handle;
}

VerbsResult<FlowCount> Nic::read_flow_counters(FlowCountersHandle handle) const {
  const FlowCounters* counters = state_->flow_counters.find(handle);
  if (counters == nullptr) return Failure{VerbsError::invalid_argument};
  return counters->count;
}

VerbsResult<void> Nic::destroy_flow_counters(FlowCountersHandle handle) {
  FlowCounters* counters = state_->flow_counters.find(handle);
  if (counters == nullptr) return Failure{VerbsError::invalid_argument};
  if (counters->users != 0) return Failure{VerbsError::busy};
  state_->flow_counters.destroy(*counters);
  return {};
}

VerbsResult<FlowHandle> Nic::create_flow(QpHandle qp_handle, const FlowInit& init) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(qp_handle);
  FlowCounters* counters = nic.flow_counters.find(init.counters);
  const bool is_default = init.type == FlowType::all_default || init.type == FlowType::group_default;
  if (qp == nullptr || qp->service->type != QpType::raw_packet || (init.counters.valid() && counters == nullptr) ||
      init.priority > nic.config.limits.max_flow_priority || (is_default && init.goes_on) ||
      !nic.config.has_port(init.port))
    return Failure{VerbsError::invalid_argument};
  if (nic.flows.full()) return Failure{VerbsError::no_memory};
  Flow& flow = nic.flows.create();
  flow.init = init;
  flow.qp = qp;
  flow.counters = counters;
  flow.order = nic.steering.flows_made++;
  ++qp->attachments;
  if (counters != nullptr) ++counters->users;
  if (init.type == FlowType::sniffer) {
    ++nic.steering.sniffers;
    ++nic.examinations;
  }
  auto& rules = nic.steering.rules;
  rules.insert(std::ranges::upper_bound(rules, &flow, comes_before), &flow);
  nic.steering.looped.allocate();
  return flow.handle;
}

VerbsResult<void> Nic::destroy_flow(FlowHandle handle) {
  NicState& nic = *state_;
  Flow* flow = nic.flows.find(handle);
  if (flow == nullptr) return Failure{VerbsError::invalid_argument};
  std::erase(nic.steering.rules, flow);
  if (flow->init.type == FlowType::sniffer) {
    --nic.steering.sniffers;
    --nic.examinations;
  }
  if (flow->counters != nullptr) --flow->counters->users;
  --flow->qp->attachments;
  nic.flows.destroy(*flow);
  return {};
}

}  // namespace verbena::nic
