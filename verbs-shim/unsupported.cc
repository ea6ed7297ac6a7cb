// Verbs that are not built: each slot and each exported function answers EOPNOTSUPP, never ENOSYS (programs and their
// tests take EOPNOTSUPP for "this device cannot", and skip). docs/deviations.md lists them with the reason.
#include "verbs-shim/context_ops.h"
#include "verbs-shim/objects.h"

namespace verbena::shim {
namespace {

/// A function of any signature that refuses: pointers come back null with errno set, numbers are the errno value.
template <class Function>
struct Refusal;
template <class Result, class... Arguments>
struct Refusal<Result (*)(Arguments...)> {
  static Result call(Arguments...) {
    errno = EOPNOTSUPP;
    if constexpr (std::is_pointer_v<Result>)
      return nullptr;
    else
      return EOPNOTSUPP;
  }
};

template <class Slot>
void refuse(Slot& slot) {
  slot = Refusal<Slot>::call;
}

int refuse_post_srq_ops(ibv_srq*, ibv_ops_wr* operation, ibv_ops_wr** bad_operation) {
  *bad_operation = operation;
  return EOPNOTSUPP;
}

}  // namespace

void fill_unsupported(Context& context) {
  ibv_context_ops& ops = context.context.ops;
  refuse(ops.alloc_mw);
  refuse(ops.bind_mw);
  refuse(ops.dealloc_mw);
  refuse(context.advise_mr);
  refuse(context.alloc_null_mr);
  refuse(context.reg_dm_mr);
  refuse(context.alloc_dm);
  refuse(context.free_dm);
  refuse(context.modify_flow_action_esp);
  refuse(context.destroy_flow_action);
  refuse(context.create_flow_action_esp);
  context.post_srq_ops = refuse_post_srq_ops;
}

}  // namespace verbena::shim

using namespace verbena::shim;

VERBENA_ABI int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) {
  errno = EOPNOTSUPP;
  return IBV_REREG_MR_ERR_INPUT;  // the region is as it was
}

VERBENA_ABI ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  return fail(EOPNOTSUPP);
}

VERBENA_ABI ibv_context* ibv_import_device(int) {
  return fail(EOPNOTSUPP);
}
VERBENA_ABI ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}
VERBENA_ABI void ibv_unimport_pd(ibv_pd*) {}
VERBENA_ABI ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}
VERBENA_ABI void ibv_unimport_mr(ibv_mr*) {}
VERBENA_ABI ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
  return fail(EOPNOTSUPP);
}
VERBENA_ABI void ibv_unimport_dm(ibv_dm*) {}

// As a device without enhanced connection establishment answers: callers go on without it.
VERBENA_ABI int ibv_set_ece(ibv_qp*, ibv_ece*) {
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}
VERBENA_ABI int ibv_query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}
