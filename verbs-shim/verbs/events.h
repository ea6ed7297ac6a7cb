// Acknowledged: what an object that is to be destroyed still waits for.
//
// The application must acknowledge each event it was given (ibv_ack_cq_events, ibv_ack_async_event); destroying the
// object waits until it has. The counters wrap, and so does their comparison.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "emulator/host/os/call_state.h"

namespace verbena::shim {

class Acknowledged {
 public:
  Acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond) : mutex_(mutex), cond_(cond) {}

  void add(std::uint32_t delivered, const std::uint32_t& acknowledged) {
    delivered_[count_] = delivered;
    acknowledged_[count_++] = &acknowledged;
  }
  void wait() {
    const host::OutsideCall waits;
    pthread_mutex_lock(&mutex_);
    for (std::size_t i = 0; i < count_; ++i)
      while (*acknowledged_[i] != delivered_[i]) pthread_cond_wait(&cond_, &mutex_);
    pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t& mutex_;
  pthread_cond_t& cond_;
  std::uint32_t delivered_[2] = {};
  const std::uint32_t* acknowledged_[2] = {};
  std::size_t count_ = 0;
};

}  // namespace verbena::shim
