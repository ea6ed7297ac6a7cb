// Verbs that are not built: each slot and each exported function answers EOPNOTSUPP, never ENOSYS (programs and their
// tests take EOPNOTSUPP for "this device cannot", and skip). docs/deviations.md lists them with the reason.
// Tested by: tests/shim/verbs/errno_test.cc
#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"

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
  slot = verb<Refusal<Slot>::call>;
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
  context.post_srq_ops = verb<refuse_post_srq_ops>;
}

// As a device without enhanced connection establishment answers: callers go on without it.
int set_ece(ibv_qp*, ibv_ece*) {
  return EOPNOTSUPP;
}
int query_ece(ibv_qp*, ibv_ece* ece) {
  *ece = {};
  return EOPNOTSUPP;
}

}  // namespace verbena::shim
