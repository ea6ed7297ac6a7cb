#include "emulator/host/engine/engine_thread.h"

#include <algorithm>
#include <mutex>

namespace verbena::host {

Progress::Look Engine::ThreadSide::pass() {
  const FairTimers::Look look = engine_.pass_.fetch(Link::kAll);
  if (!engine_.lock_.try_lock_briefly()) return Look::kept_out;
  const bool app_sleeps = activity().sleeps;
  const Pass::Traffic traffic =
      engine_.pass_.run(true, look, app_sleeps ? Pass::Acknowledge::at_once : Pass::Acknowledge::with_answer);
  PeerScheduling* const scheduling = engine_.live_.parts().scheduling;
  const bool in_the_way = !traffic.any() && scheduling != nullptr && scheduling->blocks_peer_cpu();
  engine_.lock_.unlock();
  engine_.after_unlock(false);
  if (traffic.any()) {
    engine_.vain_polls_.took_frames();
    return Look::worked;
  }
  return in_the_way ? Look::in_the_way : Look::nothing;
}

bool Engine::ThreadSide::shares_core() {
  if (!engine_.lock_.try_lock_briefly()) return true;
  const std::lock_guard guard(engine_.lock_, std::adopt_lock);
  PeerScheduling* const scheduling = engine_.live_.parts().scheduling;
  return scheduling != nullptr && scheduling->shares_core();
}

Time Engine::ThreadSide::prepare_sleep(bool listen, Time longest, bool& ready) {
  if (!engine_.lock_.try_lock_briefly())
    return std::min(longest, engine_.pass_.clock().exact() + WaitPolicy::kWatchMin);
  Pass& pass = engine_.pass_;
  Time until{};
  {
    const std::lock_guard guard(engine_.lock_, std::adopt_lock);
    // What run() transmits from here on sees that the thread sleeps, what it did before is in the deadline.
    const Time now = pass.clock().exact();
    ready = !listen || engine_.sleep_plan_.app_resumes_polling(now) || engine_.live_.arm();
    if (!ready) return {};
    const SleepPlan::Due due{.deadline = pass.deadline_of_sleep(now), .acknowledgement = pass.acknowledgement_due()};
    until = engine_.sleep_plan_.begin_sleep(now, listen, longest, due, pass.acknowledgements().expects_answers(),
                                            engine_.activity_.polls());
    engine_.thread_sleep_.begins(until);
    if (PeerScheduling* const scheduling = engine_.live_.parts().scheduling; scheduling != nullptr)
      scheduling->sleeps_on_cpu();
  }
  engine_.live_.flush();
  return until;
}

/// Whether something is due that the sleeping thread does not know of and that nobody else will look after.
bool Engine::thread_must_wake() {
  if (thread_sleep_.is_awake()) return false;
  if (!sleep_plan_.must_wake(thread_sleep_.until(), activity_.polls(), pass_.acknowledgement_due(),
                             [&] { return pass_.deadline(pass_.last_now()); }))
    return false;
  thread_sleep_.ends();  // one kick is enough
  return true;
}

/// Frames ring nobody while the application polls. It may stop at any moment: without a thread that looks after it by
/// then, or a peer that sees to it, frames would wait for ever.
void Engine::disarm() {
  if (live_.frames_need_kernel() && sleep_plan_.rests() && !thread_sleep_.is_awake()) return;
  live_.link().disarm();
}

/// An application that has polled all that it posted for waits for something that it does not poll for, if for
/// anything, such as the last octet of a WRITE. One that is about to answer comes back at once. False: it does not
/// leave, or frames wait.
bool Engine::leave_to_thread() {
  if (!pass_.app_stops_polling()) return false;
  sleep_plan_.app_stops_polling();
  if (live_.parts().scheduling != nullptr) live_.parts().scheduling->stops_polling();
  return live_.arm();
}

void Engine::expect_sleep() {
  bool kick = false;
  {
    const std::lock_guard guard(lock_);
    const Time now = pass_.clock().now();
    pass_.acknowledge(now);
    const bool is_awake = thread_sleep_.is_awake();
    const Time until = thread_sleep_.until();
    const bool armed = live_.arm();
    // Such as the rest of a message that the link has no room for.
    kick = !is_awake &&
           (!armed || SleepPlan::must_wake_for_sleeper(
                          until, {.deadline = pass_.deadline(now), .acknowledgement = pass_.acknowledgement_due()}));
    if (kick) thread_sleep_.ends();
    activity_.goes_to_sleep();
  }
  live_.flush();
  if (kick && thread_ != nullptr) thread_->kick();
}

}  // namespace verbena::host
