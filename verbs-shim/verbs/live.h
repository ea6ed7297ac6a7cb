// Whether what an application passes is an object, and the one that it says it is. Verbs that make, change or end
// something look pointers up and do not follow them until then (docs/deviations.md). The data path follows its
// pointers.
//
// The kernel finds an object by the context and the handle that stand in its structure: where one of them is no longer
// what it was made with, there is no such object (ENOENT), as where there is none at all.
// Tested by: tests/shim/verbs/handles_test.cc
#pragma once

#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {

inline bool has_own_handle(const Dm& dm) {
  return dm.handle == dm.made_handle;
}
inline bool has_own_handle(const IndirectionTable& table) {
  return table.ind_tbl_handle == static_cast<int>(table.nic.index);
}
inline bool has_own_handle(const Qp& qp) {
  return qp.qp_base.handle == qp.nic.index;
}
/// Those without a handle in their structure are named by their context alone.
template <class Object>
bool has_own_handle(const Object& object) {
  if constexpr (requires { object.handle == object.nic.index; })
    return object.handle == object.nic.index;
  else
    return true;
}

template <class Object>
const ibv_context* named_context_of(const Object& object) {
  return object.context;
}
inline const ibv_context* named_context_of(const Qp& qp) {
  return qp.qp_base.context;
}

template <class Object>
bool is_as_made(Kind kind, const Object* object) {
  const Context* const owner = Process::instance().owner_of(kind, object);
  return owner != nullptr && named_context_of(*object) == &owner->context && has_own_handle(*object);
}

inline bool is_live(ibv_qp* qp) {
  return is_as_made(Kind::qp, qp_of(qp));
}
inline bool is_live(ibv_cq* cq) {
  return is_as_made(Kind::cq, cq_of(cq));
}
inline bool is_live(ibv_srq* srq) {
  return is_as_made(Kind::srq, static_cast<Srq*>(srq));
}
inline bool is_live(ibv_wq* queue) {
  return is_as_made(Kind::work_queue, static_cast<Wq*>(queue));
}
inline bool is_live(ibv_rwq_ind_table* table) {
  return is_as_made(Kind::indirection_table, static_cast<IndirectionTable*>(table));
}
inline bool is_live(ibv_comp_channel* channel) {
  return is_as_made(Kind::channel, static_cast<Channel*>(channel));
}
inline bool is_live(ibv_ah* ah) {
  return is_as_made(Kind::ah, static_cast<Ah*>(ah));
}
inline bool is_live(ibv_mr* mr) {
  return is_as_made(Kind::mr, static_cast<Mr*>(mr));
}
inline bool is_live(ibv_mw* mw) {
  return is_as_made(Kind::mw, static_cast<Mw*>(mw));
}
inline bool is_live(ibv_dm* dm) {
  return is_as_made(Kind::device_memory, static_cast<Dm*>(dm));
}
inline bool is_live(ibv_xrcd* xrcd) {
  return is_as_made(Kind::xrc_domain, static_cast<Xrcd*>(xrcd));
}
inline bool is_live(ibv_flow* flow) {
  return is_as_made(Kind::flow, static_cast<Flow*>(flow));
}
inline bool is_live(ibv_counters* counters) {
  return is_as_made(Kind::flow_counters, static_cast<FlowCounters*>(counters));
}
inline bool is_live(ibv_td* domain) {
  return is_as_made(Kind::thread_domain, static_cast<ThreadDomain*>(domain));
}
/// Domains with an NIC object of their own, and parent domains, which stand for one.
inline bool is_live(ibv_pd* pd) {
  return is_as_made(Kind::pd, static_cast<Pd*>(pd)) || is_as_made(Kind::parent_domain, static_cast<Pd*>(pd));
}

/// Whether the object is one, and of that context: a NIC knows the handles of one context only.
template <class Object>
bool is_live_of(const ibv_context* context, Object* object) {
  return is_live(object) && object->context == context;
}

/// What is said of a pointer that names no object: nothing was named, or what was named is not found.
inline int missing(const void* object) {
  return object == nullptr ? EINVAL : ENOENT;
}

/// 0, or the errno value of an object that there is not in that context.
template <class Object>
int missing_in(const ibv_context* context, Object* object) {
  return is_live_of(context, object) ? 0 : missing(object);
}

/// The engine behind the object. The error is an errno value: no such object, or its device is gone.
template <class Object>
Result<host::Engine*, int> live_engine(Object* object) {
  if (!is_live(object)) return Failure{missing(object)};
  host::Engine* const engine = working_engine_of(object->context);
  if (engine == nullptr) return Failure{kNoDevice};
  return engine;
}

}  // namespace verbena::shim
