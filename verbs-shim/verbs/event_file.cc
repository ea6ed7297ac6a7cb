#include "verbs-shim/verbs/event_file.h"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "emulator/host/os/call_state.h"
#include "emulator/host/os/cancellation_shield.h"

namespace verbena::shim {

EventFile::~EventFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

int EventFile::open() {
  owner_ = getpid();
  descriptor_ = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  return descriptor_ < 0 ? errno : 0;
}

void EventFile::push(const QueuedEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (events_.size() >= kEventsMax) return;
  events_.push_back(event);
  const std::uint64_t token = 1;
  while (write(descriptor_, &token, sizeof token) < 0 && errno == EINTR) {
  }
}

std::optional<QueuedEvent> EventFile::take() {
  while (true) {
    std::uint64_t token = 0;
    {
      // A plain read: signals interrupt or restart it as the application chose with SA_RESTART.
      const host::OutsideCall waits;
      if (read(descriptor_, &token, sizeof token) != sizeof token) return std::nullopt;
    }
    const std::scoped_lock lock(mutex_);
    if (events_.empty()) continue;
    const QueuedEvent event = events_.front();
    events_.pop_front();
    if (event.cancelled) continue;
    if (event.source != nullptr) ++event.source->delivered;
    return event;
  }
}

std::uint32_t EventFile::cancel(const EventSource& source) {
  // The tokens are the parent's, and one of its threads may have held the mutex when it forked.
  if (getpid() != owner_) return source.delivered;
  const host::CancellationShield shield;
  const std::scoped_lock lock(mutex_);
  for (auto event = events_.begin(); event != events_.end();) {
    if (event->source != &source) {
      ++event;
      continue;
    }
    // Take the token back as well, unless another thread holds it already: that one then finds the event cancelled.
    std::uint64_t token = 0;
    const iovec into{&token, sizeof token};
    if (preadv2(descriptor_, &into, 1, -1, RWF_NOWAIT) == sizeof token) {
      event = events_.erase(event);
    } else {
      *event = QueuedEvent{.cancelled = true};
      ++event;
    }
  }
  return source.delivered;
}

}  // namespace verbena::shim
