#include "emulator/host/os/poll_doorbell.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <mutex>
#include <utility>

namespace verbena::host {

bool PollDoorbell::open(int frames) {
  frames_ = frames;
  descriptor_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  return descriptor_ >= 0 && ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, frames, &nothing) == 0;
}

void PollDoorbell::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

/// Threads that want different things meet here; the last one to come in does what is wanted by then. Switching on
/// looks at what waits already, so that no frame is missed.
void PollDoorbell::change() {
  const std::lock_guard guard(lock_);
  const bool wanted = wanted_.load(std::memory_order_relaxed);
  if (wanted == rings_.load(std::memory_order_relaxed) || descriptor_ < 0) return;
  epoll_event interest{};
  interest.events = wanted ? static_cast<std::uint32_t>(EPOLLIN) : 0;
  if (::epoll_ctl(descriptor_, EPOLL_CTL_MOD, frames_, &interest) == 0) rings_.store(wanted, std::memory_order_relaxed);
}

}  // namespace verbena::host
