// ReadyQueue: the QPs that have something to send, in the order of their turns.
//
// Solely that list. It runs through the QPs themselves (Qp::ready_next), so that nothing is allocated; whose turn is
// how long is nic.cc's. Each QP is in it once.
// Tested by: tests/nic/back_pressure_test.cc
#pragma once

#include <cstddef>

#include "emulator/nic/state/qp.h"
#include "wire/assert.h"

namespace verbena::nic {

class ReadyQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return size_; }
  const Qp* first() const { return first_; }
  const Qp* last() const { return last_; }

  void push_back(Qp& qp) {
    if (qp.ready) return;
    qp.ready = true;
    qp.ready_next = nullptr;
    (last_ != nullptr ? last_->ready_next : first_) = &qp;
    last_ = &qp;
    ++size_;
  }
  void push_front(Qp& qp) {
    if (qp.ready) return;
    qp.ready = true;
    qp.ready_next = first_;
    first_ = &qp;
    if (last_ == nullptr) last_ = &qp;
    ++size_;
  }
  /// Null: it is empty.
  Qp* take() {
    Qp* const qp = first_;
    if (qp == nullptr) return nullptr;
    first_ = qp->ready_next;
    if (first_ == nullptr) last_ = nullptr;
    qp->ready = false;
    --size_;
    return qp;
  }
  void remove(Qp& qp) {
    if (!qp.ready) return;
    Qp* previous = nullptr;
    for (Qp* at = first_; at != &qp; at = at->ready_next) {
      VERBENA_ASSERT(at != nullptr);
      previous = at;
    }
    (previous != nullptr ? previous->ready_next : first_) = qp.ready_next;
    if (last_ == &qp) last_ = previous;
    qp.ready = false;
    --size_;
  }

 private:
  Qp* first_ = nullptr;
  Qp* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace verbena::nic
