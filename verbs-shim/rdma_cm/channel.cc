#include "verbs-shim/rdma_cm/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "emulator/host/os/call_state.h"

namespace verbena::shim::rdma_cm {
namespace {

struct Leaving {
  std::atomic<unsigned>& waiting;
  ~Leaving() { waiting.fetch_sub(1, std::memory_order_relaxed); }
};

}  // namespace

std::shared_ptr<Channel> Channel::open(int flags, int& descriptor) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  struct stat status{};
  // Past the hooks, which would call it a character device.
  syscall(SYS_fstat, ends[0], &status);
  if ((flags & O_CLOEXEC) == 0) ::fcntl(ends[0], F_SETFD, 0);
  if ((flags & O_NONBLOCK) != 0) ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  descriptor = ends[0];
  return std::shared_ptr<Channel>(new Channel(ends[1], status.st_ino));
}

Channel::~Channel() {
  abandon();
}

void Channel::abandon() {
  if (own_end_ >= 0) ::close(std::exchange(own_end_, -1));
}

bool Channel::is_over() const {
  pollfd end{own_end_, 0, 0};
  return own_end_ < 0 || (::poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
}

void Channel::refill() {
  while (tokens_ < std::min(events_.size(), kTokensMax)) {
    const char token = 0;
    if (::send(own_end_, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof token) return;
    ++tokens_;
  }
}

void Channel::push(const ChannelEvent& event) {
  if (events_.size() >= kEventsMax) return;
  events_.push_back(event);
  refill();
}

std::optional<ChannelEvent> Channel::pop() {
  if (tokens_ != 0) --tokens_;
  std::optional<ChannelEvent> event;
  if (!events_.empty()) {
    event = events_.front();
    events_.pop_front();
  }
  refill();
  return event;
}

std::deque<ChannelEvent> Channel::withdraw(std::uint64_t reporter, int descriptor) {
  std::deque<ChannelEvent> taken;
  std::erase_if(events_, [&](const ChannelEvent& event) {
    if (event.reporter != reporter) return false;
    taken.push_back(event);
    return true;
  });
  // A token that another thread has taken already makes it look once in vain.
  char token = 0;
  while (tokens_ > events_.size() && ::recv(descriptor, &token, sizeof token, MSG_DONTWAIT) == sizeof token) --tokens_;
  return taken;
}

bool Channel::wait(int descriptor) {
  char token = 0;
  // A plain read: signals interrupt or restart it as the application chose with SA_RESTART.
  waiting_.fetch_add(1, std::memory_order_relaxed);
  ssize_t got = -1;
  {
    const Leaving leaving{waiting_};  // also if the thread is cancelled
    const host::OutsideCall waits;
    got = ::read(descriptor, &token, sizeof token);
  }
  if (got == 0) errno = EIO;
  if (got == sizeof token) taker_.store(::gettid(), std::memory_order_relaxed);
  return got == sizeof token;
}

void Channel::await_return() const {
  const pid_t taker = taker_.load(std::memory_order_relaxed);
  if (taker == 0 || taker == ::gettid()) return;
  for (unsigned turn = 0; turn < kReturnTurnsMax && waiting_.load(std::memory_order_relaxed) == 0; ++turn)
    ::usleep(kReturnTurnUs);
}

}  // namespace verbena::shim::rdma_cm
