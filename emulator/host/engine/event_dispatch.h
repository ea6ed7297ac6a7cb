// EventDispatch: hands the NIC's and the communication managers' events to the program, outside of the engine's lock.
//
// Solely responsible for the order of events and for there being one caller of the sink at a time. Whoever finds events
// under the lock notes it; whoever leaves the lock dispatches.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/engine/connection_services.h"
#include "emulator/host/os/fair_lock.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

/// Receives what the NIC has to tell, outside the engine's lock, from whichever thread found it; never two calls at
/// once, in the NIC's order. A sink may call back into the engine.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void async_event(const nic::AsyncEvent& event) = 0;
  virtual void completion_event(const nic::CompletionEvent& event) = 0;
  /// Of the port's communication manager.
  virtual void connection_event(std::uint32_t /*port*/, const cm::Event&) {}
};

class EventDispatch {
 public:
  explicit EventDispatch(EventSink& sink) : sink_(sink) {}

  /// Under the engine's lock: there are events.
  void note() { waiting_.store(true, std::memory_order_relaxed); }
  bool is_due() const { return waiting_.load(std::memory_order_relaxed); }
  /// Outside of `lock`. One thread dispatches at a time; the others leave it what they have found.
  void dispatch(FairLock& lock, nic::Nic& nic, ConnectionServices& connections);
  /// In the child after fork(): the thread that dispatched is not there.
  void abandon() { dispatchers_.store(0, std::memory_order_relaxed); }

 private:
  struct Batch;
  bool deliver(FairLock& lock, nic::Nic& nic, ConnectionServices& connections);

  EventSink& sink_;
  std::atomic<bool> waiting_{false};
  std::atomic<std::uint32_t> dispatchers_{0};
};

}  // namespace verbena::host
