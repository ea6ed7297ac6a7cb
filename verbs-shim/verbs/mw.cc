// Memory windows: ibv_alloc_mw, ibv_bind_mw (type 1), ibv_dealloc_mw. Windows of type 2 are bound by a work request.
// Tested by: tests/shim/verbs/memory_test.cc
#include <new>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

/// A parent domain is its domain.
bool is_same_domain(const ibv_pd* a, const ibv_pd* b) {
  return a == b || (a != nullptr && b != nullptr && static_cast<const Pd*>(a)->nic == static_cast<const Pd*>(b)->nic);
}

}  // namespace

nic::WindowBinding binding_of(const ibv_qp& qp, const ibv_mw& window, ibv_mw_type type, std::uint32_t rkey,
                              const ibv_mw_bind_info& info) {
  // A window of another context, of the other kind, or none at all: its NIC has no such window.
  const bool is_known = window.context == qp.context && window.type == type;
  return {.window = is_known ? static_cast<const Mw&>(window).nic : nic::MwHandle{},
          .rkey = rkey,
          .lkey = info.mr != nullptr ? info.mr->lkey : 0,
          .address = info.addr,
          .length = info.mr != nullptr ? info.length : 0,
          .access = info.mw_access_flags};
}

void note_bind(ibv_mw& window, std::uint32_t rkey) {
  constexpr std::uint32_t kConsumerBits = 0xff;
  window.rkey = (window.rkey & ~kConsumerBits) | (rkey & kConsumerBits);
}

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  const auto found = live_engine(pd);
  if (!found) return fail(found.error());
  host::Engine* const engine = *found;
  if (const int error = refusal_by_device(pd->context, host::Refusable::mw); error != 0) return fail(error);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return fail(EINVAL);
  auto* const mw = new (std::nothrow) Mw();
  if (mw == nullptr) return fail(ENOMEM);
  const auto made = engine->run([pd, type](nic::Nic& nic, Time) {
    return nic.allocate_window(static_cast<Pd*>(pd)->nic, static_cast<nic::WindowType>(type));
  });
  if (!made) {
    delete mw;
    return fail(errno_of(made));
  }
  mw->nic = made->handle;
  mw->context = pd->context;
  mw->pd = pd;
  mw->rkey = made->rkey;
  mw->handle = made->handle.index;
  mw->type = type;
  Process::instance().enlist(Kind::mw, mw, pd->context);
  return mw;
}

int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  host::Engine* const engine = engine_of(qp->context);
  if (engine == nullptr) return kNoDevice;
  // What mlx5_bind_mw and rxe_bind_mw of rdma-core look at before they post. All else is the NIC's, and completes with
  // IBV_WC_MW_BIND_ERR.
  const ibv_mw_bind_info& info = bind->bind_info;
  if (info.mr == nullptr && (info.addr != 0 || info.length != 0)) return EINVAL;
  if ((info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0) return EINVAL;
  if (info.mr != nullptr && !is_same_domain(mw->pd, info.mr->pd)) return EPERM;
  nic::SendRequest request;
  request.wr_id = bind->wr_id;
  request.signaled = (bind->send_flags & IBV_SEND_SIGNALED) != 0;
  request.fence = (bind->send_flags & IBV_SEND_FENCE) != 0;
  const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
  request.opcode = nic::SendOpcode::bind_memory_window;
  request.operand = {.binding = binding_of(*qp, *mw, IBV_MW_TYPE_1, rkey, info)};
  const auto posted =
      engine->post([&](nic::Nic& nic, Time now) { return nic.post_send(qp_of(qp)->nic, request, now); });
  if (posted) mw->rkey = rkey;
  return errno_of(posted);
}

int dealloc_mw(ibv_mw* mw) {
  auto* const object = static_cast<Mw*>(mw);
  Process& process = Process::instance();
  if (!is_live(mw)) return missing(mw);
  if (host::Engine* const engine = engine_of(mw->context)) {
    const auto gone = engine->run([object](nic::Nic& nic, Time) { return nic.deallocate_window(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::mw, object);
  release(context_of(mw->context));
  delete object;
  return 0;
}

}  // namespace verbena::shim
