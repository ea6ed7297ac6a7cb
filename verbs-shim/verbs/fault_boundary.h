// Verbs that may fail on demand: the boundary (boundary.h) with a look at the plan of call faults in front of it.
//
// Solely responsible for which verb has which name in a plan, and for what a call that is to fail answers: what the
// verb answers for this errno, with nothing done. The verbs of the data path are looked at only while a plan speaks of
// them (plan_slots()).
// Tested by: tests/shim/verbs/call_faults_test.cc
#pragma once

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/call_faults.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/newer_verbs.h"

namespace verbena::shim {

/// `any`: no fault names it.
template <auto kVerb>
inline constexpr fabric::Verb kFaultName = fabric::Verb::any;

#define VERBENA_FAULT_NAME(function, verb) \
  template <>                              \
  inline constexpr fabric::Verb kFaultName<&function> = fabric::Verb::verb
VERBENA_FAULT_NAME(open_device, open_device);
VERBENA_FAULT_NAME(close_device, close_device);
VERBENA_FAULT_NAME(compat_query_device, query_device);
VERBENA_FAULT_NAME(query_device_ex, query_device);
VERBENA_FAULT_NAME(compat_query_port, query_port);
VERBENA_FAULT_NAME(query_port, query_port);
VERBENA_FAULT_NAME(query_gid, query_gid);
VERBENA_FAULT_NAME(query_gid_ex, query_gid);
VERBENA_FAULT_NAME(query_pkey, query_pkey);
VERBENA_FAULT_NAME(alloc_pd, alloc_pd);
VERBENA_FAULT_NAME(dealloc_pd, dealloc_pd);
VERBENA_FAULT_NAME(reg_mr, reg_mr);
VERBENA_FAULT_NAME(reg_mr_iova, reg_mr);
VERBENA_FAULT_NAME(reg_mr_iova2, reg_mr);
VERBENA_FAULT_NAME(reg_dmabuf_mr, reg_mr);
VERBENA_FAULT_NAME(rereg_mr, rereg_mr);
VERBENA_FAULT_NAME(dereg_mr, dereg_mr);
VERBENA_FAULT_NAME(create_comp_channel, create_comp_channel);
VERBENA_FAULT_NAME(destroy_comp_channel, destroy_comp_channel);
VERBENA_FAULT_NAME(create_cq, create_cq);
VERBENA_FAULT_NAME(create_cq_ex, create_cq);
VERBENA_FAULT_NAME(resize_cq, resize_cq);
VERBENA_FAULT_NAME(destroy_cq, destroy_cq);
VERBENA_FAULT_NAME(req_notify_cq, req_notify_cq);
VERBENA_FAULT_NAME(get_cq_event, get_cq_event);
VERBENA_FAULT_NAME(poll_cq, poll_cq);
VERBENA_FAULT_NAME(get_async_event, get_async_event);
VERBENA_FAULT_NAME(create_qp, create_qp);
VERBENA_FAULT_NAME(create_qp_ex, create_qp);
VERBENA_FAULT_NAME(modify_qp, modify_qp);
VERBENA_FAULT_NAME(query_qp, query_qp);
VERBENA_FAULT_NAME(destroy_qp, destroy_qp);
VERBENA_FAULT_NAME(post_send, post_send);
VERBENA_FAULT_NAME(post_recv, post_recv);
VERBENA_FAULT_NAME(create_srq, create_srq);
VERBENA_FAULT_NAME(create_srq_ex, create_srq);
VERBENA_FAULT_NAME(modify_srq, modify_srq);
VERBENA_FAULT_NAME(query_srq, query_srq);
VERBENA_FAULT_NAME(destroy_srq, destroy_srq);
VERBENA_FAULT_NAME(post_srq_recv, post_srq_recv);
VERBENA_FAULT_NAME(create_ah, create_ah);
VERBENA_FAULT_NAME(create_ah_from_wc, create_ah);
VERBENA_FAULT_NAME(destroy_ah, destroy_ah);
VERBENA_FAULT_NAME(attach_mcast, attach_mcast);
VERBENA_FAULT_NAME(detach_mcast, detach_mcast);
VERBENA_FAULT_NAME(alloc_mw, alloc_mw);
VERBENA_FAULT_NAME(bind_mw, bind_mw);
VERBENA_FAULT_NAME(dealloc_mw, dealloc_mw);
VERBENA_FAULT_NAME(alloc_dm, alloc_dm);
VERBENA_FAULT_NAME(open_xrcd, open_xrcd);
VERBENA_FAULT_NAME(create_flow, create_flow);
VERBENA_FAULT_NAME(reg_mr_ex, reg_mr);
VERBENA_FAULT_NAME(reg_buf_mr, reg_mr);
VERBENA_FAULT_NAME(query_port_speed, query_port);
VERBENA_FAULT_NAME(query_gid_type, query_gid);
VERBENA_FAULT_NAME(import_pd, import_pd);
VERBENA_FAULT_NAME(import_mr, import_mr);
VERBENA_FAULT_NAME(import_dm, import_dm);
VERBENA_FAULT_NAME(query_gid_table, query_gid_table);
VERBENA_FAULT_NAME(get_pkey_index, get_pkey_index);
VERBENA_FAULT_NAME(query_rt_values, query_rt_values);
VERBENA_FAULT_NAME(alloc_td, alloc_td);
VERBENA_FAULT_NAME(dealloc_td, dealloc_td);
VERBENA_FAULT_NAME(alloc_parent_domain, alloc_parent_domain);
VERBENA_FAULT_NAME(alloc_null_mr, alloc_null_mr);
VERBENA_FAULT_NAME(reg_dm_mr, reg_dm_mr);
VERBENA_FAULT_NAME(advise_mr, advise_mr);
VERBENA_FAULT_NAME(free_dm, free_dm);
VERBENA_FAULT_NAME(modify_cq, modify_cq);
VERBENA_FAULT_NAME(open_qp, open_qp);
VERBENA_FAULT_NAME(modify_qp_rate_limit, modify_qp_rate_limit);
VERBENA_FAULT_NAME(query_ece, query_ece);
VERBENA_FAULT_NAME(set_ece, set_ece);
VERBENA_FAULT_NAME(close_xrcd, close_xrcd);
VERBENA_FAULT_NAME(get_srq_num, get_srq_num);
VERBENA_FAULT_NAME(create_wq, create_wq);
VERBENA_FAULT_NAME(modify_wq, modify_wq);
VERBENA_FAULT_NAME(destroy_wq, destroy_wq);
VERBENA_FAULT_NAME(create_rwq_ind_table, create_rwq_ind_table);
VERBENA_FAULT_NAME(destroy_rwq_ind_table, destroy_rwq_ind_table);
VERBENA_FAULT_NAME(destroy_flow, destroy_flow);
VERBENA_FAULT_NAME(create_counters, create_counters);
VERBENA_FAULT_NAME(destroy_counters, destroy_counters);
VERBENA_FAULT_NAME(attach_counters_point_flow, attach_counters_point_flow);
VERBENA_FAULT_NAME(read_counters, read_counters);
VERBENA_FAULT_NAME(init_ah_from_wc, init_ah_from_wc);
// Those that are called through slots of other objects than the context are named where they are defined (cq_ex.cc,
// work_queue.cc).

template <auto kVerb, Answers kAnswers, class Signature = decltype(kVerb)>
struct FaultBoundary;

template <auto kVerb, Answers kAnswers, class Result, class First, class... Rest>
struct FaultBoundary<kVerb, kAnswers, Result (*)(First*, Rest...)> {
  static Result call(First* first, Rest... rest) {
    if (const int error = planned_error(first); error != 0) return refused<kAnswers, Result>(error);
    return Boundary<kVerb, kAnswers>::call(first, rest...);
  }

 private:
  static int planned_error(First* first) {
    CallFaults* const plan = CallFaults::plan();
    if (plan == nullptr) [[likely]]
      return 0;
    if (first == nullptr || !plan->concerns(kFaultName<kVerb>)) return 0;  // then nobody looks behind the pointer
    const host::InsideCall inside;
    const int before = errno;
    const int error = host::is_state_lost() ? 0 : plan->before(call_about(kFaultName<kVerb>, first));
    errno = before;
    return error;
  }
};

/// The function to give to C for a verb that a fault can name.
template <auto kVerb, Answers kAnswers = Answers::error>
inline constexpr auto planned_verb = [] {
  if constexpr (kFaultName<kVerb> == fabric::Verb::any)
    return verb<kVerb, kAnswers>;
  else
    return FaultBoundary<kVerb, kAnswers>::call;
}();

/// Whether a slot of the data path is to look at the plan.
inline bool is_planned(fabric::Verb verb) {
  const CallFaults* const plan = CallFaults::plan();
  return plan != nullptr && plan->concerns(verb);
}
/// The program reads the slot as it calls, by the inline functions of verbs.h: a plain load of a pointer, which is
/// whole on every machine that the shim runs on. Thread sanitizers do not know that, and are not to look here.
template <class Function>
__attribute__((noinline, no_sanitize("thread"))) void set_slot(Function*& slot, Function* function) {
  std::atomic_thread_fence(std::memory_order_release);
  *const_cast<Function* volatile*>(&slot) = function;
}

/// Posting: each work request of the list is a call. Those in front of the one that fails are posted, and that one is
/// the bad one.
template <auto kPost, class Queue, class Request>
int post_as_planned(Queue* queue, Request* requests, Request** bad) {
  CallFaults* const plan = CallFaults::plan();
  if (plan == nullptr) return kPost(queue, requests, bad);
  Request* last = nullptr;
  for (Request* request = requests; request != nullptr; last = request, request = request->next) {
    const int error = plan->before(call_about(kFaultName<kPost>, queue));
    if (error == 0) continue;
    if (last != nullptr) {
      last->next = nullptr;
      const int own = kPost(queue, requests, bad);
      last->next = request;
      if (own != 0) return own;
    }
    *bad = request;
    return error;
  }
  return kPost(queue, requests, bad);
}

}  // namespace verbena::shim
