// WaitPolicy: whether the progress thread looks again or sleeps, and how.
//
// Solely responsible for that decision. Pure: it reads no clock, takes no lock and knows no link; what was seen and the
// time are arguments, so that every order of events is a test (tests/host/engine/wait_policy_test.cc). The thread that
// does what it says is progress_thread.h. Three ways to sleep:
//   nobody polls        listening: peers ring the doorbell; without end if there is no deadline
//   the app polls       not listening: the app takes the frames; the thread wakes after a while to see that it still
//                       does, which is what `watch_` is the length of
//   calls, but no polls listening, but no longer than a few milliseconds: deadlines made meanwhile need no wake-up each
#pragma once

#include <cstdint>
#include <utility>

#include "wire/time.h"

namespace verbena::host {

class WaitPolicy {
 public:
  /// What one pass over the link has come to. kept_out: an application thread does that right now. in_the_way: nothing
  /// to do, and the thread keeps the core from the peer that is to answer (PeerScheduling::blocks_peer_cpu).
  enum class Look : std::uint8_t { worked, nothing, kept_out, in_the_way };
  /// How often the application has polled and called; the values only change. On which core it did so last, and whether
  /// it has gone to sleep since, for a completion event.
  struct Activity {
    std::uint64_t polls = 0;
    std::uint64_t calls = 0;
    int core = -1;
    bool sleeps = false;
    bool operator==(const Activity&) const = default;
  };
  struct Seen {
    Look look = Look::nothing;
    Activity activity;
    int core = -1;          // that the thread runs on
    bool is_guest = false;  // it runs where others have to run (ThreadAffinity)
  };
  /// What ends a sleep. control: whatever the link or ProgressThread::kick() wants.
  enum class Wake : std::uint8_t { time, frames, control };
  struct Decision {
    bool sleeps = false;          // else: look again
    bool listens = false;         // frames are to wake it
    Time longest = kNever;        // ... and otherwise this does
    bool was_woken_well = false;  // by frames, and has just taken the first of them
  };

  /// `over_kernel`: frames come out of the kernel, so that no sender sees that nobody takes them.
  WaitPolicy(bool over_kernel, const Activity& activity, Time now)
      : over_kernel_(over_kernel),
        mark_(activity),
        before_sleep_(activity),
        watch_(watch_min()),
        busy_until_(now + kSpin),
        last_worked_(now),
        actions_(activity.polls + activity.calls) {}

  /// Before a pass: whether it is left out, because the application has polled so often while the thread slept that it
  /// serves the link itself; a look would take its core and its frames from under it. The pass then counts as
  /// `nothing`.
  bool leaves_it_to_app(const Activity& activity) const { return timed_out_ && activity.polls >= polls_that_serve_; }

  /// After a pass. `shares_core()`: whether one who may send us frames was last seen on the thread's core; it is asked
  /// only if that decides.
  template <class SharesCore>
  Decision step(const Seen& seen, Time now, SharesCore&& shares_core) {
    const bool app_polls = seen.look == Look::kept_out || seen.activity.polls != mark_.polls;
    const bool worked = seen.look == Look::worked;
    if (!app_polls) {
      const bool woken_well = worked && note_work(seen.activity, now);
      if (expects_more(seen) && (now < busy_until_ || (now < linger_until_ && !shares_core())))
        return {.was_woken_well = woken_well};
    }
    return sleep_of(seen, app_polls, now);
  }

  /// The sleep that step() wanted is about to begin, and ends at `until` at the latest.
  void sleeps(const Activity& activity, Time until);
  /// Frames were there already: it looks instead.
  void sleep_was_refused(Time now);
  void woke(Wake wake, const Activity& activity, Time now);

  static constexpr Duration kSpin = microseconds(20);
  // In a stream of frames to a passive application the thread spins longer, if on a core of its own: a peer that is
  // kept from its core for a moment goes on soon. Each pass that found frames earns so much, spinning in vain spends
  // it.
  static constexpr Duration kSpinEarned = microseconds(50);
  static constexpr Duration kSpinInStream = milliseconds(2);
  static constexpr Duration kSpinInStreamKernel = microseconds(100);  // who sends frames through the kernel is not seen
  // While the application polls: how long until the thread looks whether it still does. Nobody rings for frames that
  // wait in the kernel then, so there the first look comes early; finding any says that the application has left.
  static constexpr Duration kWatchMin = milliseconds(1);
  static constexpr Duration kWatchMinKernel = microseconds(100);
  static constexpr Duration kWatchMax = milliseconds(8);
  // An application that polls at least so often serves the link itself. As the watch doubles, one that stops waits no
  // longer for the next look than three times as long as it has polled: for the rest of a watch in which it still did,
  // and for the next. For links through the kernel: over shared memory peers see that nobody looks, and ring.
  static constexpr Duration kServedEvery = microseconds(200);

 private:
  static constexpr std::uint64_t kNobody = UINT64_MAX;  // has polled that often

  Duration watch_min() const { return over_kernel_ ? kWatchMinKernel : kWatchMin; }
  bool note_work(const Activity& activity, Time now);
  bool is_in_the_way(const Seen& seen) const;
  /// Woken for nothing: perhaps the thread stands in the way of the application thread that polls. It sleeps rather
  /// than yields: on a busy machine a yield costs a time slice, while a sleeper is woken ahead of those that compute.
  bool expects_more(const Seen& seen) const {
    return !timed_out_ && !fruitless_ && (seen.look == Look::worked || !is_in_the_way(seen));
  }
  Decision sleep_of(const Seen& seen, bool app_polls, Time now);

  bool over_kernel_;
  Activity mark_;          // where the present look began
  Activity before_sleep_;  // where the last sleep did
  Duration watch_;
  Time busy_until_;
  Time last_worked_;
  std::uint64_t actions_;                     // of the application, as of last_worked_
  Duration earned_{};                         // to spin in vain, as of last_worked_
  Time linger_until_{};                       // ... and until when that is
  bool timed_out_ = false;                    // the last wake-up, nothing taken yet
  bool fruitless_ = false;                    // the last wake-up, so far
  bool for_frames_ = false;                   // the last wake-up, nothing taken yet
  Time watch_ends_ = kNever;                  // of the sleep that is being prepared, if it is to watch
  std::uint64_t polls_that_serve_ = kNobody;  // when the present sleep is over
};

}  // namespace verbena::host
