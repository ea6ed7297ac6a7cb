// When the slots of a queue are free again: as on NICs whose queues lie in the program's memory (mlx5, mlx4, irdma and
// others), and as IBTA vol 1, 10.8.5 has it for a work request that is outstanding.
//
// A send queue's slots are free when the completion of a request, or of a later one of the queue, was polled; a receive
// queue's slot when its completion was. Errors and flushed requests count as any other. A completion that is lost in an
// overrun never frees anything. Solely this rule; how many are in use is counted by the queues (work_queue.h).
// Private to emulator/nic.
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// Frees what completions name that the program has polled, or that were taken out of a CQ for good. A QP, or a work
/// queue, that ends or is reset takes its completions out of its CQs first (purge_completions), so that none speaks of
/// another life of its; an SRQ that ended is not found by its handle any more.
class SlotFreeing {
 public:
  explicit SlotFreeing(NicState& nic) : nic_(nic) {}

  void free(const Completion& completion) {
    if (completion.slot_owner > SlotOwner::receive_queue) return free_elsewhere(completion);
    // Mostly many of one QP come together.
    if (qp_ == nullptr || qp_->qpn != completion.qpn) qp_ = nic_.qpns.find(completion.qpn);
    if (qp_ == nullptr) return;
    if (completion.slot_owner == SlotOwner::send_queue)
      qp_->send_queue.freed = completion.slot;
    else
      qp_->receive_queue.free_slot();
  }

 private:
  [[gnu::noinline]] void free_elsewhere(const Completion& completion) {
    if (completion.slot_owner == SlotOwner::shared_receive_queue) {
      if (SharedReceiveQueue* const srq = nic_.srqs.find(SrqHandle{completion.slot})) srq->queue.free_slot();
    } else if (WorkQueue* const queue = nic_.work_queues.find(WorkQueueHandle{completion.slot})) {
      queue->queue.free_slot();
    }
  }
  NicState& nic_;
  Qp* qp_ = nullptr;  // of the one before
};

/// Why a post that finds no room is refused; `done` of the requests in the queue are complete and hold their slots.
inline Failure<VerbsError> refuse_post(Counters& counters, std::uint32_t done) {
  if (done != 0) counters.add(Counter::posts_refused_unpolled);
  return Failure{VerbsError::no_memory};
}

}  // namespace verbena::nic
