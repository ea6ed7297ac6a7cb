// The verbs that say how fast: the rate of a QP, the moderation of a CQ's events.
// Tested by: tests/nic/moderation_test.cc, tests/nic/dcqcn_test.cc
#include "emulator/nic/transport_ib/pacing.h"

#include "emulator/nic/nic_private.h"

namespace verbena::nic {

VerbsResult<void> Nic::limit_rate(QpHandle handle, const RateLimit& limit) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  const NicLimits& limits = nic.config.limits;
  if (qp == nullptr || (qp->state != QpState::rtr && qp->state != QpState::rts))
    return Failure{VerbsError::invalid_argument};
  if (limit.kbps != 0 && (limit.kbps < limits.min_rate_kbps || limit.kbps > limits.max_rate_kbps))
    return Failure{VerbsError::invalid_argument};
  qp->attributes.rate_limit_kbps = limit.kbps;
  set_pace(*qp, limit);
  nic.ready.push_back(*qp);
  return {};
}

VerbsResult<void> Nic::moderate_cq(CqHandle handle, std::uint16_t count, Duration period) {
  NicState& nic = *state_;
  CompletionQueue* cq = nic.cqs.find(handle);
  const NicLimits& limits = nic.config.limits;
  if (cq == nullptr || count > limits.max_moderation_count || period.ns < 0 ||
      period > microseconds(limits.max_moderation_period_us))
    return Failure{VerbsError::invalid_argument};
  if (cq->owes_event()) {  // under the old terms
    cq->end_moderation();
    nic.completion_events.push({cq->handle, cq->context});
  }
  cq->moderate(count, period);
  return {};
}

}  // namespace verbena::nic
