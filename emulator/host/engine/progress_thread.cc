#include "emulator/host/engine/progress_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/engine/progress_loop.h"
#include "emulator/host/os/cancellation_shield.h"

namespace verbena::host {

ProgressThread::ProgressThread(std::unique_ptr<ProgressSeat> seat, const Clock& clock, Sleeper& sleeper)
    : seat_(std::move(seat)), clock_(clock), sleeper_(sleeper) {}

Result<std::unique_ptr<ProgressThread>, std::string> ProgressThread::create(Progress& progress, const Clock& clock,
                                                                            Sleeper& sleeper) {
  const int kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (kick < 0) return Failure{std::string("cannot make an eventfd: ") + std::strerror(errno)};
  return std::unique_ptr<ProgressThread>(
      new ProgressThread(std::make_unique<ProgressSeat>(progress, kick), clock, sleeper));
}

Result<void, std::string> ProgressThread::start() {
  auto loop = ProgressLoop::join(*seat_, clock_, sleeper_);
  if (!loop) return Failure{loop.error()};
  loop_ = std::move(*loop);
  return {};
}

void ProgressThread::stop() {
  if (const auto loop = std::exchange(loop_, nullptr)) loop->leave(*seat_);
}

ProgressThread::~ProgressThread() {
  stop();
}

std::uint64_t ProgressThread::wakes() const {
  return seat_->wakes.load(std::memory_order_relaxed);
}

bool ProgressThread::run_apart(void (*work)(void*), void* on, Duration limit) {
  return seat_->run_apart(work, on, limit);
}

void ProgressThread::abandon() {
  seat_->close_kick();
}

void ProgressThread::kick() {
  const CancellationShield shield;
  seat_->wake();
}

}  // namespace verbena::host
