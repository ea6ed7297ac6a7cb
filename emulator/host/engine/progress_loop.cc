#include "emulator/host/engine/progress_loop.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>

#include "emulator/host/os/call_state.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/signals_blocked.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

// -- ProgressSeat -----------------------------------------------------------------------------------------------------

ProgressSeat::ProgressSeat(Progress& of, int kick_descriptor) : progress(of), kick(kick_descriptor) {
  sem_init(&work_done_, 0, 0);
}

ProgressSeat::~ProgressSeat() {
  close_kick();
  sem_destroy(&work_done_);
}

void ProgressSeat::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(kick, &one, sizeof one);  // full: woken already
}

void ProgressSeat::close_kick() {
  if (kick >= 0) close(kick);
  kick = -1;
}

bool ProgressSeat::run_apart(void (*work)(void*), void* on, Duration limit) {
  Work none = Work::none;
  if (!work_state_.compare_exchange_strong(none, Work::being_given)) return false;
  work_ = work;
  work_on_ = on;
  work_state_.store(Work::given, std::memory_order_release);
  wake();
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

void ProgressSeat::do_work() {
  if (work_state_.load(std::memory_order_acquire) != Work::given) return;
  work_(work_on_);
  work_state_.store(Work::none, std::memory_order_relaxed);
  sem_post(&work_done_);
}

// -- Who is served ----------------------------------------------------------------------------------------------------

/// The loops that run. Never destroyed: a fork may happen during exit.
struct ProgressLoop::Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<ProgressLoop>> loops;
};

ProgressLoop::Registry& ProgressLoop::registry() {
  static auto* const registry = new Registry;
  return *registry;
}

Result<std::shared_ptr<ProgressLoop>, std::string> ProgressLoop::join(ProgressSeat& seat, const Clock& clock,
                                                                      Sleeper& sleeper) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  for (const auto& loop : all.loops)
    if (&loop->clock_ == &clock && &loop->sleeper_ == &sleeper) {
      loop->members_.push_back(&seat);
      loop->has_changes_.store(true, std::memory_order_release);
      loop->members_.front()->wake();
      return loop;
    }
  std::shared_ptr<ProgressLoop> made(new ProgressLoop(clock, sleeper));
  made->members_.push_back(&seat);
  const SignalsBlocked blocked;
  try {
    made->thread_ = std::thread([made] { made->main(); });
  } catch (const std::system_error& failure) {
    return Failure{std::string("cannot start a thread: ") + failure.what() + memory_limit_text()};
  }
  all.loops.push_back(made);
  return made;
}

void ProgressLoop::leave(ProgressSeat& seat) {
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  std::erase(members_, &seat);
  has_changes_.store(true, std::memory_order_release);
  seat.wake();
  if (!members_.empty()) {
    gone_.wait(lock, [&] { return !seat.is_served; });
    return;
  }
  std::erase_if(all.loops, [&](const auto& loop) { return loop.get() == this; });
  std::thread last = std::move(thread_);
  lock.unlock();
  last.join();
}

void ProgressLoop::hold_for_fork() {
  registry().mutex.lock();
}

void ProgressLoop::release_after_fork(bool in_child) {
  Registry& all = registry();
  if (in_child) {
    for (auto& loop : all.loops) new std::shared_ptr<ProgressLoop>(std::move(loop));  // never destroyed: see abandon()
    all.loops.clear();
  }
  all.mutex.unlock();
}

/// False: there is nobody any more.
bool ProgressLoop::take_changes() {
  if (!has_changes_.load(std::memory_order_acquire)) return true;
  const std::lock_guard guard(registry().mutex);
  has_changes_.store(false, std::memory_order_relaxed);
  for (ProgressSeat* const seat : seats_) seat->is_served = std::ranges::find(members_, seat) != members_.end();
  for (ProgressSeat* const seat : members_) {
    if (std::exchange(seat->is_served, true)) continue;
    seat->policy.emplace(seat->progress.frames_need_kernel(), seat->progress.activity(), pass_clock_.now());
    seat->sleeps = false;
  }
  seats_ = members_;
  gone_.notify_all();
  return !seats_.empty();
}

// -- The thread -------------------------------------------------------------------------------------------------------

void ProgressLoop::main() {
  pthread_setname_np(pthread_self(), "verbena");
  prctl(PR_SET_TIMERSLACK, 1);  // nanosecond; the default of 50 us would blur RNR timers
  // A synchronous fault must reach its handler even here: the NIC copies from and to application memory.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigaddset(&faults, fault);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);

  const InsideCall always;  // an exit() here, in a handler of a fault, waits for nobody
  Time glanced = pass_clock_.now();
  while (take_changes()) {
    std::size_t sleepers = 0;
    for (ProgressSeat* const seat : seats_) {
      seat->do_work();
      if (!seat->sleeps) serve(*seat);
      sleepers += seat->sleeps ? 1 : 0;
    }
    if (sleepers == seats_.size()) {
      wait(Wait::until_due);
      continue;
    }
    cpu_pause();
    if (sleepers == 0 || pass_clock_.now() - glanced < kGlance) continue;
    wait(Wait::not_at_all);
    glanced = pass_clock_.now();
  }
}

/// How often the application has polled and called.
std::uint64_t ProgressLoop::app_actions() const {
  std::uint64_t actions = 0;
  for (const ProgressSeat* const seat : seats_) {
    const Progress::Activity activity = seat->progress.activity();
    actions += activity.polls + activity.calls;
  }
  return actions;
}

/// One pass, after which it sleeps or does not.
void ProgressLoop::serve(ProgressSeat& seat) {
  using enum Progress::Look;
  Progress& progress = seat.progress;
  WaitPolicy& policy = *seat.policy;
  WaitPolicy::Seen seen;
  seen.look = policy.leaves_it_to_app(progress.activity()) ? nothing : progress.pass();
  seen.activity = progress.activity();
  seen.core = sched_getcpu();
  seen.is_guest = affinity_.is_guest();
  const auto decision = policy.step(seen, pass_clock_.now(), [&] { return progress.shares_core(); });
  if (decision.was_woken_well) affinity_.served(app_actions(), seen.activity.sleeps ? -1 : seen.activity.core);
  if (!decision.sleeps) return;
  bool ready = true;
  const Time until = progress.prepare_sleep(decision.listens, decision.longest, ready);
  if (!ready) {
    policy.sleep_was_refused(clock_.now());
    progress.woke();
    return;
  }
  policy.sleeps(seen.activity, until);
  seat.sleeps = true;
  seat.until = until;
}

/// For those who sleep, until one of them is to be woken, or only whether one is.
void ProgressLoop::wait(Wait how) {
  constexpr std::size_t kEach = 3;
  descriptors_.clear();
  Time until = kNever;
  for (const ProgressSeat* const seat : seats_) {
    if (!seat->sleeps) continue;
    const Link::WaitDescriptors link = seat->progress.wait_descriptors();
    for (const int one : {seat->kick, link.frames, link.control}) descriptors_.push_back({one, POLLIN, 0});
    until = std::min(until, seat->until);
  }
  const int count = sleeper_.wait(descriptors_, how == Wait::until_due ? until : clock_.now());
  const Time now = clock_.now();
  const pollfd* own = descriptors_.data();
  for (ProgressSeat* const seat : seats_) {
    if (!seat->sleeps) continue;
    const std::span<const pollfd> ready(std::exchange(own, own + kEach), kEach);
    const bool is_ready = count > 0 && std::ranges::any_of(ready, [](const pollfd& one) { return one.revents != 0; });
    // Who waits by time alone is woken then, whatever its clock says.
    const bool is_due = seat->until <= now || (count <= 0 && how == Wait::until_due && seat->until == until);
    if (is_ready || is_due) wake(*seat, is_ready ? ready : std::span<const pollfd>());
  }
}

/// `ready`: of its descriptors; empty: it is time.
void ProgressLoop::wake(ProgressSeat& seat, std::span<const pollfd> ready) {
  seat.wakes.store(seat.wakes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  seat.sleeps = false;
  WaitPolicy::Wake by = WaitPolicy::Wake::time;
  if (!ready.empty()) {
    if (ready[0].revents != 0) {
      std::uint64_t kicks = 0;
      [[maybe_unused]] const ssize_t got = read(seat.kick, &kicks, sizeof kicks);
    }
    if (ready[2].revents != 0) seat.progress.service();
    if (ready[1].revents != 0) seat.progress.acknowledge_doorbell();
    by = ready[1].revents != 0 ? WaitPolicy::Wake::frames : WaitPolicy::Wake::control;
  }
  seat.progress.woke();
  seat.policy->woke(by, seat.progress.activity(), clock_.now());
}

}  // namespace verbena::host
