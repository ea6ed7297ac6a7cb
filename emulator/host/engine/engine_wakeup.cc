// Engine: who serves the link while nobody does, and who wakes whom for it.
// Tested by: tests/host/engine/engine_test.cc
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "emulator/host/engine/engine.h"
#include "emulator/host/os/nap.h"

namespace verbena::host {
namespace {
constexpr Duration kBackPressureRetry = microseconds(50);
}  // namespace

/// Frames ring nobody while the application polls. It may stop at any moment: without a thread that looks after it by
/// then, or a peer that sees to it, frames would wait for ever.
void Engine::disarm() {
  if (kernel_frames_ && sleep_plan_.rests() && thread_sleeps_until_ns_.load(std::memory_order_relaxed) != kAwake)
    return;
  link_->disarm();
}

/// An application that has polled all that it posted for waits for something that it does not poll for, if for
/// anything, such as the last octet of a WRITE. One that is about to answer comes back at once.
bool Engine::app_stops_polling() const {
  return (acknowledgements_.waits_for_next_pass() || !nic_->holds_acknowledgements()) && !nic_->awaits_completions();
}

/// False: it does not leave, or frames wait.
bool Engine::leave_to_thread() {
  if (!app_stops_polling()) return false;
  sleep_plan_.app_stops_polling();
  if (parts_.scheduling != nullptr) parts_.scheduling->stops_polling();
  return arm();
}

/// False: frames wait, do not sleep. Those that a decorator has kept have left the link already.
bool Engine::arm() {
  if (parts_.answers != nullptr) parts_.answers->tell_rest(nic_->owes_answers());
  return !(is_decorated_ && port_->holds_back()) && link_->arm();
}

/// A pass that began then has taken all. Peers let no timer run over what we have not answered (PeerAnswers).
void Engine::tell_answered_now(Time began) {
  if (port_->holds_back() || nic_->owes_answers()) return;
  answered_by_ = began;
  parts_.answers->tell_answered(began);
}

Progress::Activity Engine::activity() const {
  const std::uint64_t polls = app_polls_.load(std::memory_order_relaxed);
  const std::uint64_t calls = app_calls_.load(std::memory_order_relaxed);
  return {.polls = polls,
          .calls = calls,
          .core = app_core_.load(std::memory_order_relaxed),
          .sleeps = polls + calls == active_at_sleep_.load(std::memory_order_relaxed)};
}

bool Engine::shares_core() {
  if (!lock_.try_lock_briefly()) return true;
  const std::lock_guard guard(lock_, std::adopt_lock);
  return parts_.scheduling != nullptr && parts_.scheduling->shares_core();
}

Time Engine::deadline_locked(Time now) const {
  Time deadline = kNever;
  if (const auto due = nic_->next_deadline()) deadline = std::min(deadline, *due);
  if (const auto due = port_->next_deadline()) deadline = std::min(deadline, *due);
  deadline = std::min({deadline, connection_service_->due(), removal_at_});
  if (nic_->has_work()) deadline = std::min(deadline, now + kBackPressureRetry);
  return deadline;
}

Time Engine::acknowledgement_due() const {
  return acknowledgements_.due(nic_->holds_acknowledgements());
}

Time Engine::prepare_sleep(bool listen, Time longest, bool& ready) {
  if (!lock_.try_lock_briefly()) return std::min(longest, clock_now() + WaitPolicy::kWatchMin);
  Time until{};
  {
    const std::lock_guard guard(lock_, std::adopt_lock);
    // What run() transmits from here on sees that the thread sleeps, what it did before is in the deadline.
    const Time now = clock_now();
    ready = !listen || sleep_plan_.app_resumes_polling(now) || arm();
    if (!ready) return {};
    const SleepPlan::Due due{.deadline = std::min(deadline_locked(now), timers_.look(*nic_, *link_)),
                             .acknowledgement = acknowledgement_due()};
    until = sleep_plan_.begin_sleep(now, listen, longest, due, acknowledgements_.expects_answers(),
                                    app_polls_.load(std::memory_order_relaxed));
    thread_sleeps_until_ns_.store(until.ns, std::memory_order_relaxed);
    if (parts_.scheduling != nullptr) parts_.scheduling->sleeps_on_cpu();
  }
  flush();
  return until;
}

void Engine::woke() {
  thread_sleeps_until_ns_.store(kAwake, std::memory_order_relaxed);
}

/// Whether something is due that the sleeping thread does not know of and that nobody else will look after.
bool Engine::thread_must_wake() {
  const Time until{thread_sleeps_until_ns_.load(std::memory_order_relaxed)};
  if (until.ns == kAwake) return false;
  if (!sleep_plan_.must_wake(until, app_polls_.load(std::memory_order_relaxed), acknowledgement_due(),
                             [&] { return deadline_locked(last_now_); }))
    return false;
  thread_sleeps_until_ns_.store(kAwake, std::memory_order_relaxed);  // one kick is enough
  return true;
}

/// Who shares the core is known of peers over shared memory; of others only that there is no other core to be on.
PollYield::Kind Engine::yield_of_vain_poll(bool& asks_for_cores) {
  asks_for_cores = poll_yield_.is_due_for_cores();
  using Neighbour = PeerScheduling::Neighbour;
  Neighbour neighbour = parts_.scheduling != nullptr ? parts_.scheduling->neighbour() : Neighbour::nobody;
  if (neighbour == Neighbour::nobody && has_one_core_.load(std::memory_order_relaxed)) neighbour = Neighbour::awake;
  return poll_yield_.of(neighbour, clock_.now());
}

void Engine::yield_core(PollYield::Kind kind) {
  const int kept = errno;
  const Time began = clock_now();
  sched_yield();
  if (poll_yield_.yielded(kind, began, clock_now())) nap(PollYield::kNap);
  errno = kept;
}

void Engine::expect_sleep() {
  bool kick = false;
  {
    const std::lock_guard guard(lock_);
    const Time now = clock_.now();
    acknowledge_locked(now);
    const Time until{thread_sleeps_until_ns_.load(std::memory_order_relaxed)};
    const bool armed = arm();
    // Such as the rest of a message that the link has no room for.
    kick = until.ns != kAwake &&
           (!armed || SleepPlan::must_wake_for_sleeper(
                          until, {.deadline = deadline_locked(now), .acknowledgement = acknowledgement_due()}));
    if (kick) thread_sleeps_until_ns_.store(kAwake, std::memory_order_relaxed);
    active_at_sleep_.store(app_polls_.load(std::memory_order_relaxed) + app_calls_.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  }
  flush();
  if (kick && thread_ != nullptr) thread_->kick();
}

}  // namespace verbena::host
