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
  refuse(context.modify_flow_action_esp);
  refuse(context.destroy_flow_action);
  refuse(context.create_flow_action_esp);
  context.post_srq_ops = refuse_post_srq_ops;
}

}  // namespace verbena::shim

using namespace verbena::shim;

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
