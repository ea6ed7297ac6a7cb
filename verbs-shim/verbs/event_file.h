// EventFile: what lies behind a completion channel's or a context's event descriptor.
//
// Solely responsible for the promise that the descriptor makes: it is readable exactly when an event waits, a read
// blocks or not as O_NONBLOCK says, and each event is handed out once. It does not know what an event means.
//
// The descriptor is an eventfd in semaphore mode with one token per queued event; only a thread that took a token pops
// one.
// Tested by: tests/shim/verbs/events_test.cc, tests/shim/verbs/fork_test.cc
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace verbena::shim {

/// The part of an object that events belong to. Guarded by the queue's lock.
struct EventSource {
  std::uint32_t delivered = 0;  // events handed out, each of which must be acknowledged
};

struct QueuedEvent {
  EventSource* source = nullptr;  // null: of no object
  void* object = nullptr;
  int type = 0;
  int port = 1;  // of no object: which port has changed
  bool cancelled = false;
};

class EventFile {
 public:
  static constexpr std::size_t kEventsMax = std::size_t{1} << 20;

  EventFile() = default;
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// 0, or the errno of a failure to make the descriptor.
  int open();
  int descriptor() const { return descriptor_; }

  void push(const QueuedEvent& event);
  /// Blocks unless the application set O_NONBLOCK. Nothing: errno says why (EAGAIN, EINTR).
  std::optional<QueuedEvent> take();
  /// Withdraws what waits of `source`, and tells how many events of it were delivered. After this no more are.
  /// In a child that inherited the descriptor through fork() what waits is the parent's, and stays.
  std::uint32_t cancel(const EventSource& source);

 private:
  int descriptor_ = -1;
  pid_t owner_ = -1;  // the process that opened it
  std::mutex mutex_;
  std::deque<QueuedEvent> events_;
};

}  // namespace verbena::shim
