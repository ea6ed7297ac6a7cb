// Receive work queues and the tables that spread a QP's packets over them: ibv_create_wq .. ibv_destroy_rwq_ind_table.
// Tested by: tests/shim/verbs/queues_test.cc
#include <new>
#include <vector>

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/domain_memory.h"
#include "verbs-shim/verbs/fault_boundary.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/requests.h"

namespace verbena::shim {
namespace {

static_assert(static_cast<int>(nic::WorkQueueState::reset) == IBV_WQS_RESET &&
              static_cast<int>(nic::WorkQueueState::ready) == IBV_WQS_RDY &&
              static_cast<int>(nic::WorkQueueState::error) == IBV_WQS_ERR);

int post_wq_receive(ibv_wq* queue, ibv_recv_wr* request, ibv_recv_wr** bad_request) {
  return post_receive_list(engine_of(queue->context), request, bad_request,
                           [handle = static_cast<Wq*>(queue)->nic](nic::Nic& nic, const nic::ReceiveRequest& receive) {
                             return nic.post_work_queue_receive(handle, receive);
                           });
}

int refusal_of(const ibv_context* context, const ibv_wq_init_attr& attributes) {
  if (attributes.wq_type != IBV_WQT_RQ) return EINVAL;
  for (const int error : {missing_in(context, attributes.pd), missing_in(context, attributes.cq)})
    if (error != 0) return error;
  if ((attributes.comp_mask & ~std::uint32_t{IBV_WQ_INIT_ATTR_FLAGS}) != 0) return EOPNOTSUPP;
  const bool has_flags = (attributes.comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0;
  return has_flags && (attributes.create_flags & ~std::uint32_t{IBV_WQ_FLAGS_CVLAN_STRIPPING}) != 0 ? EOPNOTSUPP : 0;
}

}  // namespace

VERBENA_FAULT_NAME(post_wq_receive, post_wq_recv);

void plan_slots(Wq& queue) {
  set_slot(queue.post_recv, is_planned(fabric::Verb::post_wq_recv)
                                ? verb<post_as_planned<&post_wq_receive, ibv_wq, ibv_recv_wr>>
                                : verb<post_wq_receive>);
}

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (const int error = refusal_of(context, *attributes); error != 0) return fail(error);
  auto* const queue = make_on<Wq>(attributes->pd);
  if (queue == nullptr) return fail(ENOMEM);
  const bool has_flags = (attributes->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0;
  const nic::WorkQueueInit init{
      .pd = static_cast<Pd*>(attributes->pd)->nic,
      .cq = cq_of(attributes->cq)->nic,
      .max_wr = attributes->max_wr,
      .max_sge = attributes->max_sge,
      .strips_vlan = has_flags && (attributes->create_flags & IBV_WQ_FLAGS_CVLAN_STRIPPING) != 0};
  const auto made = engine->run([&](nic::Nic& nic, Time) {
    auto handle = nic.create_work_queue(init);
    if (handle) queue->wq_num = nic.work_queue_number(*handle).value();
    return handle;
  });
  if (!made) {
    release_made(queue);
    return fail(errno_of(made));
  }
  queue->nic = *made;
  queue->context = context;
  queue->pd = attributes->pd;
  queue->cq = attributes->cq;
  queue->handle = made->index;
  queue->state = IBV_WQS_RESET;
  queue->wq_type = IBV_WQT_RQ;
  plan_slots(*queue);
  Process::instance().enlist(Kind::work_queue, queue, context);
  return queue;
}

int modify_wq(ibv_wq* queue, ibv_wq_attr* attributes) {
  const auto found = live_engine(queue);
  if (!found) return found.error();
  host::Engine* const engine = *found;
  if (attributes->attr_mask >= IBV_WQ_ATTR_RESERVED) return EINVAL;
  if ((attributes->attr_mask & IBV_WQ_ATTR_FLAGS) != 0) return EOPNOTSUPP;
  const bool names_current = (attributes->attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0;
  const bool names_state = (attributes->attr_mask & IBV_WQ_ATTR_STATE) != 0;
  if (names_state && attributes->wq_state > IBV_WQS_ERR) return EINVAL;
  const auto handle = static_cast<Wq*>(queue)->nic;
  const auto modified = engine->run([&](nic::Nic& nic, Time) -> Result<void, nic::VerbsError> {
    const auto state = nic.work_queue_state(handle);
    if (!state || (names_current && static_cast<int>(*state) != static_cast<int>(attributes->curr_wq_state)))
      return Failure{nic::VerbsError::invalid_argument};
    if (!names_state) return {};
    return nic.modify_work_queue(handle, static_cast<nic::WorkQueueState>(attributes->wq_state));
  });
  if (modified && names_state) queue->state = attributes->wq_state;
  return errno_of(modified);
}

int destroy_wq(ibv_wq* queue) {
  auto* const object = static_cast<Wq*>(queue);
  Process& process = Process::instance();
  if (!is_live(queue)) return missing(queue);
  if (host::Engine* const engine = engine_of(queue->context)) {
    const auto gone = engine->run([object](nic::Nic& nic, Time) { return nic.destroy_work_queue(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::work_queue, object);
  pthread_mutex_destroy(&queue->mutex);  // made by the inline part of ibv_create_wq
  pthread_cond_destroy(&queue->cond);
  release(context_of(queue->context));
  release_made(object);
  return 0;
}

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context, ibv_rwq_ind_table_init_attr* attributes) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (attributes->comp_mask != 0) return fail(EOPNOTSUPP);
  constexpr std::uint32_t kLogMax = 31;
  if (attributes->log_ind_tbl_size >= kLogMax ||
      (1u << attributes->log_ind_tbl_size) > engine->nic_config().limits.max_indirection_table_size)
    return fail(EINVAL);
  std::vector<nic::WorkQueueHandle> queues;
  for (std::uint32_t i = 0; i < 1u << attributes->log_ind_tbl_size; ++i) {
    if (const int error = missing_in(context, attributes->ind_tbl[i]); error != 0) return fail(error);
    queues.push_back(static_cast<Wq*>(attributes->ind_tbl[i])->nic);
  }
  auto* const table = new (std::nothrow) IndirectionTable();
  if (table == nullptr) return fail(ENOMEM);
  const auto made = engine->run([&](nic::Nic& nic, Time) { return nic.create_indirection_table(queues); });
  if (!made) {
    delete table;
    return fail(errno_of(made));
  }
  table->nic = *made;
  table->context = context;
  table->ind_tbl_handle = table->ind_tbl_num = static_cast<int>(made->index);
  Process::instance().enlist(Kind::indirection_table, table, context);
  return table;
}

int destroy_rwq_ind_table(ibv_rwq_ind_table* table) {
  auto* const object = static_cast<IndirectionTable*>(table);
  Process& process = Process::instance();
  if (!is_live(table)) return missing(table);
  if (host::Engine* const engine = engine_of(table->context)) {
    const auto gone = engine->run([object](nic::Nic& nic, Time) { return nic.destroy_indirection_table(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::indirection_table, object);
  release(context_of(table->context));
  delete object;
  return 0;
}

}  // namespace verbena::shim
