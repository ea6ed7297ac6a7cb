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
#include "emulator/host/os/scheduler_slice.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {
namespace {
constexpr std::uint64_t kNobody = UINT64_MAX;  // has polled that often
}

ProgressThread::ProgressThread(Progress& progress, int kick_descriptor) : progress_(progress), kick_(kick_descriptor) {
  sem_init(&work_done_, 0, 0);
}

Result<std::unique_ptr<ProgressThread>, std::string> ProgressThread::create(Progress& progress) {
  const int kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (kick < 0) return Failure{std::string("cannot make an eventfd: ") + std::strerror(errno)};
  return std::unique_ptr<ProgressThread>(new ProgressThread(progress, kick));
}

Result<void, std::string> ProgressThread::start() {
  // The mask is inherited: no signal of the application ever runs on this thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string error;
  try {
    thread_ = std::thread([this] { main(); });
  } catch (const std::system_error& failure) {
    error = std::string("cannot start a thread: ") + failure.what() + memory_limit_text();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!error.empty()) return Failure{std::move(error)};
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
  ask_for_short_slice();
  prctl(PR_SET_TIMERSLACK, 1);  // nanosecond; the default of 50 us would blur RNR timers
  // A synchronous fault must reach its handler even here: the NIC copies from and to application memory.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigaddset(&faults, fault);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);

  Progress::Activity mark = progress_.activity();  // where the present look began
  Progress::Activity before_sleep = mark;
  bool timed_out = false;
  PassClock clock;
  Time busy_until = clock.now() + kSpin;
  const Duration watch_min = progress_.frames_need_kernel() ? kWatchMinKernel : kWatchMin;
  const Duration spin_max = progress_.frames_need_kernel() ? kSpinInStreamKernel : kSpinInStream;
  Duration watch = watch_min;
  Time last_worked = busy_until;
  std::uint64_t actions = mark.polls + mark.calls;  // of the application, as of `last_worked`
  Duration earned{};                                // to spin in vain, as of `last_worked`
  Time linger_until{};                              // ... and until when that is
  bool fruitless = false;                           // the last wake-up, so far
  bool for_frames = false;                          // the last wake-up, nothing taken yet
  std::uint64_t polls_of_one_who_serves = kNobody;  // when the present sleep is over
  ThreadAffinity place;
  const InsideCall always;  // an exit() here, in a handler of a fault, waits for nobody
  while (!stop_.load(std::memory_order_acquire)) {
    do_work();
    const bool app_serves = timed_out && progress_.activity().polls >= polls_of_one_who_serves;
    const Progress::Look look = app_serves ? Progress::Look::nothing : progress_.pass();
    const bool worked = look == Progress::Look::worked;
    const Progress::Activity seen = progress_.activity();
    const bool app_polls = look == Progress::Look::kept_out || seen.polls != mark.polls;
    // The core is the application's as long as it shows that it wants it.
    const bool in_the_way =
        look == Progress::Look::in_the_way || place.is_guest() ||
        ((seen.polls != before_sleep.polls || seen.calls != before_sleep.calls) && seen.core == sched_getcpu());
    if (!app_polls) {
      const Time now = clock.now();
      if (worked) {
        if (std::exchange(for_frames, false)) place.served(seen.polls + seen.calls, seen.sleeps ? -1 : seen.core);
        // An application that does something with the frames needs a core as well.
        const bool app_is_passive = std::exchange(actions, seen.polls + seen.calls) == seen.polls + seen.calls;
        earned = std::max(earned - (now - last_worked), Duration{}) + kSpinEarned;
        earned = app_is_passive ? std::min(earned, spin_max) : Duration{};
        last_worked = now;
        busy_until = now + kSpin;
        linger_until = now + earned;
        timed_out = false;
        fruitless = false;
      }
      // Woken for nothing: perhaps we stand in the way of the app thread that polls. No yield: on a busy machine it
      // costs a time slice, while a sleeper is woken ahead of those that compute.
      const bool expects_more = !timed_out && !fruitless && (worked || !in_the_way);
      if (expects_more && (now < busy_until || (now < linger_until && !progress_.shares_core()))) {
        cpu_pause();
        continue;
      }
    }
    const bool active = app_polls || seen.calls != before_sleep.calls;
    // Who listens is woken by frames, and sees to it only that not every deadline of the application needs a kick.
    // Timers that end before the next tick cost more than the rest of a turn where a hypervisor has to set them.
    const bool watches = app_polls && !place.is_guest();
    const Time longest = active ? clock_now() + (watches ? watch : kWatchMax) : kNever;
    bool ready = true;
    const Time until = progress_.prepare_sleep(!app_polls, longest, ready);
    if (watches && until == longest && progress_.frames_need_kernel())
      polls_of_one_who_serves = seen.polls + 1 + static_cast<std::uint64_t>(watch.ns / kServedEvery.ns);
    else
      polls_of_one_who_serves = kNobody;
    watch = active && !worked ? std::min(watch * 2, kWatchMax) : watch_min;
    if (!ready) {
      timed_out = fruitless = false;
      busy_until = clock_now() + kSpin;
      progress_.woke();
      continue;
    }
    mark = seen;
    before_sleep = seen;
    const Wake wake = sleep(until);
    timed_out = wake == Wake::time;
    for_frames = wake == Wake::frames;
    fruitless = true;
    progress_.woke();
    if (!timed_out) {
      mark = progress_.activity();
      busy_until = clock_now() + kSpin;
    }
  }
}

ProgressThread::Wake ProgressThread::sleep(Time until) {
  const Link::WaitDescriptors link = progress_.wait_descriptors();
  std::array<pollfd, 3> descriptors{{{kick_, POLLIN, 0}, {link.frames, POLLIN, 0}, {link.control, POLLIN, 0}}};
  timespec timeout{};
  if (until != kNever) {
    const std::int64_t left_ns = std::max<std::int64_t>((until - clock_now()).ns, 0);
    timeout.tv_sec = left_ns / 1'000'000'000;
    timeout.tv_nsec = left_ns % 1'000'000'000;
  }
  const int count = ppoll(descriptors.data(), descriptors.size(), until == kNever ? nullptr : &timeout, nullptr);
  wakes_.store(wakes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (count <= 0) return Wake::time;
  if (descriptors[0].revents != 0) {
    std::uint64_t kicks = 0;
    [[maybe_unused]] const ssize_t got = read(kick_, &kicks, sizeof kicks);
  }
  if (descriptors[2].revents != 0) progress_.service();
  if (descriptors[1].revents != 0) progress_.acknowledge_doorbell();
  return descriptors[1].revents != 0 ? Wake::frames : Wake::control;
}

}  // namespace verbena::host
