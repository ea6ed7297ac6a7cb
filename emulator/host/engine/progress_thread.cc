#include "emulator/host/engine/progress_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/os/call_state.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/signals_blocked.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {
ProgressThread::ProgressThread(Progress& progress, const Clock& clock, Sleeper& sleeper, int kick_descriptor)
    : progress_(progress), clock_(clock), sleeper_(sleeper), kick_(kick_descriptor) {
  sem_init(&work_done_, 0, 0);
}

Result<std::unique_ptr<ProgressThread>, std::string> ProgressThread::create(Progress& progress, const Clock& clock,
                                                                            Sleeper& sleeper) {
  const int kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (kick < 0) return Failure{std::string("cannot make an eventfd: ") + std::strerror(errno)};
  return std::unique_ptr<ProgressThread>(new ProgressThread(progress, clock, sleeper, kick));
}

Result<void, std::string> ProgressThread::start() {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { main(); });
  } catch (const std::system_error& failure) {
    return Failure{std::string("cannot start a thread: ") + failure.what() + memory_limit_text()};
  }
  return {};
}

void ProgressThread::stop() {
  stop_.store(true, std::memory_order_release);
  kick();
  if (thread_.joinable()) thread_.join();
}

ProgressThread::~ProgressThread() {
  stop();
  if (kick_ >= 0) close(kick_);
  sem_destroy(&work_done_);
}

bool ProgressThread::run_apart(void (*work)(void*), void* on, Duration limit) {
  Work none = Work::none;
  if (!work_state_.compare_exchange_strong(none, Work::being_given)) return false;
  work_ = work;
  work_on_ = on;
  work_state_.store(Work::given, std::memory_order_release);
  kick();
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  const std::int64_t end_ns = end.tv_nsec + limit.ns;
  end.tv_sec += end_ns / 1'000'000'000;
  end.tv_nsec = end_ns % 1'000'000'000;
  int waited = -1;
  do {
    waited = sem_clockwait(&work_done_, CLOCK_MONOTONIC, &end);
  } while (waited != 0 && errno == EINTR);
  return waited == 0;
}

void ProgressThread::do_work() {
  if (work_state_.load(std::memory_order_acquire) != Work::given) return;
  work_(work_on_);
  work_state_.store(Work::none, std::memory_order_relaxed);
  sem_post(&work_done_);
}

void ProgressThread::abandon() {
  if (kick_ >= 0) close(kick_);
  kick_ = -1;
}

void ProgressThread::kick() {
  const CancellationShield shield;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(kick_, &one, sizeof one);  // full: kicked already
}

void ProgressThread::main() {
  pthread_setname_np(pthread_self(), "verbena");
  prctl(PR_SET_TIMERSLACK, 1);  // nanosecond; the default of 50 us would blur RNR timers
  // A synchronous fault must reach its handler even here: the NIC copies from and to application memory.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigaddset(&faults, fault);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);

  PassClock clock(clock_);
  WaitPolicy policy(progress_.frames_need_kernel(), progress_.activity(), clock.now());
  ThreadAffinity affinity;
  const InsideCall always;  // an exit() here, in a handler of a fault, waits for nobody
  while (!stop_.load(std::memory_order_acquire)) {
    do_work();
    using enum Progress::Look;
    WaitPolicy::Seen seen;
    seen.look = policy.leaves_it_to_app(progress_.activity()) ? nothing : progress_.pass();
    seen.activity = progress_.activity();
    seen.core = sched_getcpu();
    seen.is_guest = affinity.is_guest();
    const auto decision = policy.step(seen, clock.now(), [&] { return progress_.shares_core(); });
    if (decision.was_woken_well)
      affinity.served(seen.activity.polls + seen.activity.calls, seen.activity.sleeps ? -1 : seen.activity.core);
    if (!decision.sleeps) {
      cpu_pause();
      continue;
    }
    bool ready = true;
    const Time until = progress_.prepare_sleep(decision.listens, decision.longest, ready);
    if (!ready) {
      policy.sleep_was_refused(clock_.now());
      progress_.woke();
      continue;
    }
    policy.sleeps(seen.activity, until);
    const WaitPolicy::Wake wake = sleep(until);
    progress_.woke();
    policy.woke(wake, progress_.activity(), clock_.now());
  }
}

WaitPolicy::Wake ProgressThread::sleep(Time until) {
  const Link::WaitDescriptors link = progress_.wait_descriptors();
  std::array<pollfd, 3> descriptors{{{kick_, POLLIN, 0}, {link.frames, POLLIN, 0}, {link.control, POLLIN, 0}}};
  const int count = sleeper_.wait(descriptors, until);
  wakes_.store(wakes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (count <= 0) return WaitPolicy::Wake::time;
  if (descriptors[0].revents != 0) {
    std::uint64_t kicks = 0;
    [[maybe_unused]] const ssize_t got = read(kick_, &kicks, sizeof kicks);
  }
  if (descriptors[2].revents != 0) progress_.service();
  if (descriptors[1].revents != 0) progress_.acknowledge_doorbell();
  return descriptors[1].revents != 0 ? WaitPolicy::Wake::frames : WaitPolicy::Wake::control;
}

}  // namespace verbena::host
