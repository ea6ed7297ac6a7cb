#include "emulator/host/progress_thread.h"

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

#include "emulator/host/clock.h"
#include "emulator/host/spin_lock.h"

namespace verbena::host {

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
    error = std::string("cannot start a thread: ") + failure.what();
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
}

void ProgressThread::abandon() {
  if (kick_ >= 0) close(kick_);
  kick_ = -1;
}

void ProgressThread::kick() {
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

  CoreShare core;
  PassClock clock;
  const bool needs_kernel = progress_.frames_need_kernel();
  const Duration watch_min = needs_kernel ? kWatchMinKernel : kWatchMin;
  Duration watch = watch_min;
  Progress::Activity mark = progress_.activity();  // where the present look began
  std::uint64_t calls_before_sleep = mark.calls;
  Wake wake = Wake::event;
  Time last_look = clock.now();
  Time busy_until = last_look + core.spin(last_look);
  bool offered = false;  // this core to others, since the last frame or sleep
  while (!stop_.load(std::memory_order_acquire)) {
    const bool worked = progress_.pass();
    const Progress::Activity seen = progress_.activity();
    const bool app_polls = seen.polls != mark.polls;
    const Time now = clock.now();
    core.note_gap(now - last_look, now);
    last_look = now;
    unattended_.note(wake, worked, now);
    if (worked) wake = Wake::event;
    if (!app_polls) {
      if (worked) {
        core.spin_found();
        busy_until = now + core.spin(now);
        offered = true;
        continue;
      }
      if (wake == Wake::event && now < busy_until) {
        // Perhaps we stand in the way of the app thread that polls.
        if (std::exchange(offered, true))
          cpu_pause();
        else
          core.offer(now);
        continue;
      }
    }
    const bool active = app_polls || seen.calls != calls_before_sleep;
    const Time longest = active ? now + watch : kNever;
    watch = active && !worked ? std::min(watch * 2, kWatchMax) : watch_min;
    const bool listen = !app_polls || (needs_kernel && unattended_.expected(now));
    bool ready = true;
    const Time until = progress_.prepare_sleep(listen, longest, ready);
    if (ready) {
      core.spin_missed();
      core.choose_core(now, seen.caller);
      mark = seen;
      calls_before_sleep = seen.calls;
      wake = sleep(until, listen);
    }
    progress_.woke();
    last_look = clock.now();
    if (!ready) wake = Wake::event;
    if (wake == Wake::time) continue;
    if (ready) mark = progress_.activity();
    busy_until = last_look + core.spin(last_look);
    offered = false;
  }
}

ProgressThread::Wake ProgressThread::sleep(Time until, bool listen) {
  const Link::WaitDescriptors link = progress_.wait_descriptors();
  const bool frames = listen || !progress_.frames_need_kernel();
  std::array<pollfd, 3> descriptors{
      {{kick_, POLLIN, 0}, {frames ? link.frames : -1, POLLIN, 0}, {link.control, POLLIN, 0}}};
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
  if (descriptors[1].revents != 0 || descriptors[2].revents != 0) progress_.service();
  return descriptors[1].revents != 0 ? Wake::frames : Wake::event;
}

}  // namespace verbena::host
