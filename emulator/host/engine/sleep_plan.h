// SleepPlan: until when the progress thread sleeps, and which calls of the application have to wake it before.
//
// Solely responsible for these two. The application and the thread leave the link to each other: one that polls looks
// after everything itself, and may stop at any moment; one that has stopped relies on the thread. How long the thread
// sleeps at most is wait_policy.h's; whether frames wake it is the link's. Pure: what is due and the time are
// arguments, so that every order of events is a test (tests/host/engine/acknowledgement_test.cc). Under the engine's
// lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "emulator/host/engine/wait_policy.h"
#include "wire/time.h"

namespace verbena::host {

class SleepPlan {
 public:
  /// What somebody has to look after, and when; kNever: nothing.
  struct Due {
    Time deadline = kNever;         // timers, frames that are kept, work that the link had no room for
    Time acknowledgement = kNever;  // one that waits for an answer (AcknowledgementPolicy::due)
  };

  // -- What the application does --
  void app_polls() { app_role_ = AppRole::polls; }
  /// It has polled all that it posted for, and waits for something that it does not poll for, if for anything.
  void app_stops_polling() { app_role_ = AppRole::stopped_polling; }
  /// A call that is no poll. True: it had stopped, and has posted something that it will poll for.
  template <class AwaitsCompletions>
  bool app_calls(Time now, AwaitsCompletions&& awaits_completions) {
    if (app_role_ != AppRole::stopped_polling || !awaits_completions()) return false;
    app_role_ = AppRole::resumes_polling;
    resumes_until_ = now + kResumesWithin;
    return true;
  }
  /// Frames need not wake the thread: it is about to poll.
  bool app_resumes_polling(Time now) const { return app_role_ == AppRole::resumes_polling && now < resumes_until_; }

  // -- What the thread does --
  /// It is about to sleep, until `longest` if nothing is due. `expects_answers`: an acknowledgement may wait for an
  /// application that polls, and stops. Returns the end.
  Time begin_sleep(Time now, bool listens, Time longest, const Due& due, bool expects_answers, std::uint64_t polls) {
    if (app_resumes_polling(now)) longest = std::min(longest, resumes_until_);
    rests_ = longest == kNever;
    watches_answers_ = watches_answers_ && expects_answers && polls != polls_at_sleep_;
    polls_at_sleep_ = polls;
    // As long as the application polls it looks after an acknowledgement itself.
    const bool is_of_app = !listens && expects_answers;
    const Time acknowledgement = is_of_app ? kNever : due.acknowledgement;
    const Time watch = is_of_app || watches_answers_ ? now + kWatchOfAnswers : kNever;
    return std::min({longest, due.deadline, acknowledgement, watch});
  }
  /// It sleeps until something wakes it, whatever the application does.
  bool rests() const { return rests_; }
  /// It sleeps until `until`. Whether something is due that it does not know of and that nobody else will look after.
  /// `deadline()`: as in Due; it is asked only if that decides.
  template <class Deadline>
  bool must_wake(Time until, std::uint64_t polls, Time acknowledgement, Deadline&& deadline) {
    // One that polls looks after all, and the thread looks soon whether it still does, unless it rests: its timers may
    // be seconds away. It may stop while an acknowledgement waits, and a peer waits for that one.
    const bool app_polls = !rests_ && polls != polls_at_sleep_;
    if (!ends_too_late(until, app_polls ? acknowledgement : std::min(acknowledgement, deadline()))) return false;
    watches_answers_ = app_polls;
    return true;
  }
  /// The same as the application goes to sleep.
  static bool must_wake_for_sleeper(Time until, const Due& due) {
    return ends_too_late(until, std::min(due.acknowledgement, due.deadline));
  }

  static constexpr Duration kResumesWithin = WaitPolicy::kWatchMin;  // longer than that nobody relies on it
  static constexpr Duration kWatchOfAnswers = WaitPolicy::kWatchMin;
  // Something due this much before the end of the thread's sleep is not worth a wake-up.
  static constexpr Duration kSlack = milliseconds(1);

 private:
  /// resumes_polling: it had stopped, and has posted since.
  enum class AppRole : std::uint8_t { polls, stopped_polling, resumes_polling };

  static bool ends_too_late(Time until, Time due) { return due != kNever && (until == kNever || due + kSlack < until); }

  AppRole app_role_ = AppRole::polls;
  Time resumes_until_{};
  std::uint64_t polls_at_sleep_ = 0;
  bool watches_answers_ = false;  // it was woken for an acknowledgement of one that polls, which still does
  bool rests_ = false;
};

}  // namespace verbena::host
