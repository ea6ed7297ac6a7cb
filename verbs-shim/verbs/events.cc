// Getting and acknowledging events: ibv_get_cq_event, ibv_ack_cq_events, ibv_get_async_event, ibv_ack_async_event.
#include "verbs-shim/verbs/events.h"

#include <cerrno>

#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {
namespace {

void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, std::uint32_t& completed, std::uint32_t events) {
  pthread_mutex_lock(&mutex);
  completed += events;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
}

/// A child that inherited the descriptor through fork must not take the parent's events.
bool is_connected(const ibv_context* context) {
  if (engine_of(context) != nullptr) return true;
  errno = kNoDevice;
  return false;
}

}  // namespace
int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (!is_connected(channel->context)) return -1;
  engine_of(channel->context)->expect_sleep();
  const auto event = static_cast<Channel*>(channel)->events.take();
  if (!event) return -1;
  *cq = cq_base(static_cast<Cq*>(event->object));
  *cq_context = (*cq)->cq_context;
  return 0;
}

void ack_cq_events(ibv_cq* cq, unsigned int nevents) {
  acknowledge(cq->mutex, cq->cond, cq->comp_events_completed, nevents);
}

int get_async_event(ibv_context* context, ibv_async_event* event) {
  if (!is_connected(context)) return -1;
  const auto taken = context_of(context)->async_events.take();
  if (!taken) return -1;
  *event = {};
  event->event_type = static_cast<ibv_event_type>(taken->type);
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      event->element.cq = cq_base(static_cast<Cq*>(taken->object));
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      event->element.srq = static_cast<Srq*>(taken->object);
      break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      event->element.qp = &static_cast<Qp*>(taken->object)->qp_base;
      break;
    default:
      event->element.port_num = taken->port;
      break;
  }
  return 0;
}

void ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq* const cq = event->element.cq;
      acknowledge(cq->mutex, cq->cond, cq->async_events_completed, 1);
      break;
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq* const srq = event->element.srq;
      acknowledge(srq->mutex, srq->cond, srq->events_completed, 1);
      break;
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp* const qp = event->element.qp;
      acknowledge(qp->mutex, qp->cond, qp->events_completed, 1);
      break;
    }
    default:
      break;  // of the port or the device: nothing waits for it
  }
}

}  // namespace verbena::shim
