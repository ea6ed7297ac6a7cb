// Shared receive queues: ibv_create_srq .. ibv_destroy_srq, and posting to them.
// Tested by: tests/shim/verbs/queues_test.cc
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/domain_memory.h"
#include "verbs-shim/verbs/events.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/requests.h"

namespace verbena::shim {
namespace {

/// With a domain and a CQ: an XRC SRQ.
Srq* create(ibv_pd* pd, ibv_srq_init_attr& attributes, ibv_xrcd* xrcd = nullptr, ibv_cq* cq = nullptr) {
  const auto found = live_engine(pd);
  if (!found) return fail(found.error());
  host::Engine* const engine = *found;
  auto* const srq = make_on<Srq>(pd);
  if (srq == nullptr) return fail(ENOMEM);
  srq->context = pd->context;
  srq->srq_context = attributes.srq_context;
  srq->pd = pd;
  pthread_mutex_init(&srq->mutex, nullptr);
  pthread_cond_init(&srq->cond, nullptr);
  srq->id = Process::instance().enlist(Kind::srq, srq, pd->context);
  // The limit is not part of creation: ibv_modify_srq arms it.
  nic::SrqInit init{.pd = static_cast<Pd*>(pd)->nic,
                    .max_wr = attributes.attr.max_wr,
                    .max_sge = attributes.attr.max_sge,
                    .context = srq->id};
  if (xrcd != nullptr) {
    srq->xrcd = static_cast<Xrcd*>(xrcd);
    init.xrc_domain = domain_of(*srq->xrcd);
    init.cq = cq_of(cq)->nic;
  }
  const auto made = engine->run([&](nic::Nic& nic, Time) {
    auto handle = nic.create_srq(init);
    if (!handle) return handle;
    if (const auto granted = nic.query_srq(*handle)) {
      attributes.attr.max_wr = granted->max_wr;
      attributes.attr.max_sge = granted->max_sge;
    }
    return handle;
  });
  if (!made) {
    Process::instance().withdraw(Kind::srq, srq);
    release(context_of(pd->context));
    release_made(srq);
    return fail(errno_of(made));
  }
  srq->nic = *made;
  if (srq->xrcd != nullptr) srq->xrcd->users.add();
  srq->handle = made->index;
  return srq;
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  constexpr std::uint32_t kXrcParts = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | kXrcParts;
  const bool has_type = (attributes->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  const bool is_xrc = has_type && attributes->srq_type == IBV_SRQT_XRC;
  if (const int error = refusal_by_device(context, host::Refusable::srq); error != 0) return fail(error);
  if ((has_type && !is_xrc && attributes->srq_type != IBV_SRQT_BASIC) || (attributes->comp_mask & ~kKnown) != 0)
    return fail(EOPNOTSUPP);
  if ((attributes->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr) return fail(EINVAL);
  ibv_srq_init_attr plain{.srq_context = attributes->srq_context, .attr = attributes->attr};
  if (is_xrc && (attributes->comp_mask & kXrcParts) != kXrcParts) return fail(EINVAL);
  if (const int error = missing_in(context, attributes->pd); error != 0) return fail(error);
  if (is_xrc)
    for (const int error : {missing_in(context, attributes->cq), missing_in(context, attributes->xrcd)})
      if (error != 0) return fail(error);
  Srq* const srq =
      is_xrc ? create(attributes->pd, plain, attributes->xrcd, attributes->cq) : create(attributes->pd, plain);
  if (srq != nullptr) attributes->attr = plain.attr;
  return srq;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad_request) {
  return post_receive_list(engine_of(srq->context), request, bad_request,
                           [handle = static_cast<Srq*>(srq)->nic](nic::Nic& nic, const nic::ReceiveRequest& receive) {
                             return nic.post_srq_receive(handle, receive);
                           });
}

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr) {
  if (!is_live(pd)) return fail(missing(pd));
  if (const int error = refusal_by_device(pd->context, host::Refusable::srq); error != 0) return fail(error);
  return create(pd, *srq_init_attr);
}

int modify_srq(ibv_srq* srq, ibv_srq_attr* srq_attr, int srq_attr_mask) {
  const auto found = live_engine(srq);
  if (!found) return found.error();
  verbena::host::Engine* const engine = *found;
  std::optional<std::uint32_t> max_wr;
  std::optional<std::uint32_t> limit;
  if ((srq_attr_mask & IBV_SRQ_MAX_WR) != 0) max_wr = srq_attr->max_wr;
  if ((srq_attr_mask & IBV_SRQ_LIMIT) != 0) limit = srq_attr->srq_limit;
  return errno_of(engine->run([&](verbena::nic::Nic& nic, verbena::Time) {
    return nic.modify_srq(static_cast<Srq*>(srq)->nic, max_wr, limit);
  }));
}

int query_srq(ibv_srq* srq, ibv_srq_attr* srq_attr) {
  const auto engine = live_engine(srq);
  if (!engine) return engine.error();
  const auto found = (*engine)->run(
      [srq](verbena::nic::Nic& nic, verbena::Time) { return nic.query_srq(static_cast<Srq*>(srq)->nic); });
  if (!found) return errno_of(found);
  *srq_attr = {.max_wr = found->max_wr, .max_sge = found->max_sge, .srq_limit = found->limit};
  return 0;
}

int destroy_srq(ibv_srq* srq) {
  auto* const object = static_cast<Srq*>(srq);
  Process& process = Process::instance();
  if (!is_live(srq)) return missing(srq);
  ibv_context* const context = srq->context;
  const bool connected = engine_of(context) != nullptr;
  if (verbena::host::Engine* const engine = engine_of(context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.destroy_srq(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::srq, object);
  if (object->xrcd != nullptr) object->xrcd->users.drop();
  Acknowledged owed(srq->mutex, srq->cond);
  owed.add(context_of(context)->async_events.cancel(object->async_events), srq->events_completed);
  if (connected) owed.wait();
  pthread_mutex_destroy(&srq->mutex);
  pthread_cond_destroy(&srq->cond);
  release_made(object);
  release(context_of(context));
  return 0;
}

}  // namespace verbena::shim
