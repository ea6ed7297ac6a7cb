// Whether what an application passes is an object at all: verbs that make, change or end something look pointers up and
// do not follow them (docs/deviations.md). The data path follows its pointers.
#pragma once

#include "verbs-shim/objects.h"
#include "verbs-shim/process.h"

namespace verbena::shim {

inline bool is_live(ibv_qp* qp) {
  return Process::instance().is_live(Kind::qp, qp_of(qp));
}
inline bool is_live(ibv_cq* cq) {
  return Process::instance().is_live(Kind::cq, cq_of(cq));
}
inline bool is_live(ibv_srq* srq) {
  return Process::instance().is_live(Kind::srq, static_cast<Srq*>(srq));
}
inline bool is_live(ibv_wq* queue) {
  return Process::instance().is_live(Kind::work_queue, static_cast<Wq*>(queue));
}
inline bool is_live(ibv_comp_channel* channel) {
  return Process::instance().is_live(Kind::channel, static_cast<Channel*>(channel));
}
/// Domains with an NIC object of their own, and parent domains, which stand for one.
inline bool is_live(ibv_pd* pd) {
  Process& process = Process::instance();
  return process.is_live(Kind::pd, static_cast<Pd*>(pd)) || process.is_live(Kind::parent_domain, static_cast<Pd*>(pd));
}

/// Whether the object is one, and of that context: a NIC knows the handles of one context only.
template <class Object>
bool is_live_of(const ibv_context* context, Object* object) {
  return is_live(object) && object->context == context;
}

/// The engine behind the object. The error is an errno value: no such object (EINVAL), or its device is gone.
template <class Object>
Result<host::Engine*, int> live_engine(Object* object) {
  if (!is_live(object)) return Failure{EINVAL};
  host::Engine* const engine = working_engine_of(object->context);
  if (engine == nullptr) return Failure{kNoDevice};
  return engine;
}

}  // namespace verbena::shim
