#include "emulator/host/os/poll_doorbell.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <mutex>
#include <utility>

namespace verbena::host {

bool PollDoorbell::open(const Watched& watched) {
  watched_ = watched;
  descriptor_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  return descriptor_ >= 0 && ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, watched.others, &nothing) == 0;
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
  if (::epoll_ctl(descriptor_, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, watched_.frames, &interest) != 0) return;
  ::epoll_ctl(descriptor_, EPOLL_CTL_MOD, watched_.others, &interest);
  rings_.store(wanted, std::memory_order_relaxed);
}

}  // namespace verbena::host
