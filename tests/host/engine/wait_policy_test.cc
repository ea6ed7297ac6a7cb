// WaitPolicy in virtual time: every order of what can happen to a progress thread, up to a length, and what must hold
// after each: frames are taken, nobody spins for long, and a thread that nobody needs sleeps until it is rung.
#include "emulator/host/engine/wait_policy.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>

using namespace verbena;
using namespace verbena::host;

namespace {

using Look = WaitPolicy::Look;
using Wake = WaitPolicy::Wake;
constexpr int kAppCore = 0;
constexpr Duration kPass = microseconds(1);

/// What happens beside the thread before its next step.
enum class Event : std::uint8_t { quiet, frame, poll, call, kick, wait, app_sleeps };
constexpr std::array kEvents{Event::quiet, Event::frame, Event::poll,      Event::call,
                             Event::kick,  Event::wait,  Event::app_sleeps};

struct Situation {
  bool over_kernel = false;
  bool same_core = false;    // as the application
  bool shares_core = false;  // with who sends
  bool is_guest = false;
};

/// A thread, an application and a link as far as the policy can tell.
class Bench {
 public:
  explicit Bench(const Situation& situation) : situation_(situation), policy_(situation.over_kernel, activity_, now_) {}

  void happen(Event event) {
    switch (event) {
      case Event::quiet:
        break;
      case Event::frame:
        ++frames;
        if (arrived_at == kNever) arrived_at = now_;
        break;
      case Event::poll:  // takes what waits, as poll_cq does
        ++activity_.polls;
        activity_.core = kAppCore;
        activity_.sleeps = false;
        take_all();
        break;
      case Event::call:
        ++activity_.calls;
        activity_.core = kAppCore;
        activity_.sleeps = false;
        break;
      case Event::kick:
        is_kicked_ = true;
        break;
      case Event::wait:
        now_ = now_ + milliseconds(3);
        break;
      case Event::app_sleeps:
        activity_.sleeps = true;
        break;
    }
    step();
  }

  /// One pass, or one look at whether the sleep is over.
  void step() {
    if (asleep) {
      if (is_kicked_)
        wake(Wake::control);
      else if (sleep_.listens && frames != 0)
        wake(Wake::frames);
      else if (now_ >= sleep_.longest)
        wake(Wake::time);
      else
        now_ = std::min(now_ + kPass, sleep_.longest);
      return;
    }
    now_ = now_ + kPass;
    ++passes;
    WaitPolicy::Seen seen;
    const bool is_left_out = policy_.leaves_it_to_app(activity_);
    if (!is_left_out && frames != 0) {
      --frames;
      if (frames == 0) arrived_at = kNever;
      seen.look = Look::worked;
    }
    if (is_left_out) ++left_out;
    seen.activity = activity_;
    seen.core = situation_.same_core ? kAppCore : kAppCore + 1;
    seen.is_guest = situation_.is_guest;
    last = policy_.step(seen, now_, [&] { return situation_.shares_core; });
    if (!last.sleeps) {
      vain_for = seen.look == Look::worked ? Duration{} : vain_for + kPass;
      return;
    }
    if (last.listens && frames != 0) return policy_.sleep_was_refused(now_);  // the link says so
    sleep_ = last;
    asleep = true;
    policy_.sleeps(activity_, sleep_.longest);
    vain_for = Duration{};
  }

  /// Nothing happens any more: until it sleeps for good, at most for so long.
  bool comes_to_rest(Duration most) {
    const Time end = now_ + most;
    while (now_ < end) {
      if (asleep && sleep_.listens && sleep_.longest == kNever && frames == 0) return true;
      if (asleep && !(sleep_.listens && frames != 0)) now_ = std::min(end, sleep_.longest);
      step();
    }
    return false;
  }

  Time now() const { return now_; }

  std::uint64_t frames = 0;
  Time arrived_at = kNever;  // the oldest that waits
  bool asleep = false;
  WaitPolicy::Decision last;
  Duration vain_for{};  // looked without finding anything
  std::uint64_t passes = 0;
  std::uint64_t left_out = 0;

 private:
  void take_all() {
    frames = 0;
    arrived_at = kNever;
  }
  void wake(Wake why) {
    asleep = false;
    is_kicked_ = false;
    policy_.woke(why, activity_, now_);
  }

  Situation situation_;
  Time now_ = Time{} + milliseconds(1);
  WaitPolicy::Activity activity_;
  WaitPolicy policy_;
  WaitPolicy::Decision sleep_;
  bool is_kicked_ = false;
};

std::string text_of(const Situation& situation, const std::array<Event, 7>& events, std::size_t count) {
  std::string text = situation.over_kernel ? "kernel" : "shm";
  if (situation.same_core) text += " same-core";
  if (situation.shares_core) text += " shares-core";
  if (situation.is_guest) text += " guest";
  constexpr std::array kNames{"quiet", "frame", "poll", "call", "kick", "wait", "app-sleeps"};
  for (std::size_t i = 0; i < count; ++i) text += std::string(" ") + kNames[static_cast<std::size_t>(events[i])];
  return text;
}

/// After any order of events: it comes to rest, soon, with all frames taken, and has not spun for longer than a stream
/// of frames earns.
void check_all(const Situation& situation, std::size_t length) {
  std::array<Event, 7> events{};
  std::uint64_t orders = 1;
  for (std::size_t i = 0; i < length; ++i) orders *= kEvents.size();
  for (std::uint64_t order = 0; order < orders; ++order) {
    Bench bench(situation);
    std::uint64_t left = order;
    for (std::size_t i = 0; i < length; ++i, left /= kEvents.size()) {
      events[i] = kEvents[left % kEvents.size()];
      bench.happen(events[i]);
    }
    const std::uint64_t passes = bench.passes;
    // Two watches: the one that is under way, and one more that sees that the application does not poll any longer.
    if (!bench.comes_to_rest(WaitPolicy::kWatchMax * 2 + WaitPolicy::kSpinInStream + milliseconds(1)))
      BOOST_FAIL("does not come to rest after " + text_of(situation, events, length));
    if (bench.frames != 0) BOOST_FAIL("leaves frames after " + text_of(situation, events, length));
    // A few frames earn some spinning; never as much as a stream.
    const Duration spun_max = WaitPolicy::kSpin + WaitPolicy::kSpinEarned * static_cast<std::int64_t>(length);
    const auto passes_max = static_cast<std::uint64_t>(spun_max.ns / kPass.ns) + 8 + length;
    if (bench.passes - passes > passes_max)
      BOOST_FAIL(std::to_string(bench.passes - passes) + " passes in vain after " + text_of(situation, events, length));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_order_of_events_ends_at_rest_with_all_frames_taken) {
  for (unsigned bits = 0; bits < 16; ++bits)
    check_all({.over_kernel = (bits & 1) != 0,
               .same_core = (bits & 2) != 0,
               .shares_core = (bits & 4) != 0,
               .is_guest = (bits & 8) != 0},
              5);
}

BOOST_AUTO_TEST_CASE(when_nobody_polls_it_sleeps_listening_and_without_end) {
  Bench bench({});
  BOOST_REQUIRE(bench.comes_to_rest(milliseconds(1)));
  BOOST_TEST(bench.last.listens);
  BOOST_TEST((bench.last.longest == kNever));
}

BOOST_AUTO_TEST_CASE(thread_looks_on_after_frames_and_sleeps_if_in_vain) {
  Bench bench({});
  BOOST_REQUIRE(bench.comes_to_rest(milliseconds(1)));
  bench.happen(Event::frame);  // wakes it
  const Time woken = bench.now();
  BOOST_REQUIRE(!bench.asleep);
  while (!bench.asleep) bench.step();
  BOOST_TEST((bench.now() - woken >= WaitPolicy::kSpin));
  BOOST_TEST((bench.now() - woken <= WaitPolicy::kSpin + WaitPolicy::kSpinEarned + kPass * 4));
}

BOOST_AUTO_TEST_CASE(in_a_stream_it_earns_longer_looks_up_to_a_bound) {
  for (const bool over_kernel : {false, true}) {
    const Duration most = over_kernel ? WaitPolicy::kSpinInStreamKernel : WaitPolicy::kSpinInStream;
    Bench bench({.over_kernel = over_kernel});
    for (int i = 0; i < 200; ++i) bench.happen(Event::frame);
    const Time last = bench.now();
    while (!bench.asleep) bench.step();
    BOOST_TEST((bench.now() - last >= most));
    BOOST_TEST((bench.now() - last <= most + kPass * 210));
    Bench crowded({.over_kernel = over_kernel, .shares_core = true});
    for (int i = 0; i < 200; ++i) crowded.happen(Event::frame);
    const Time end = crowded.now();
    while (!crowded.asleep) crowded.step();
    BOOST_TEST((crowded.now() - end <= WaitPolicy::kSpin + kPass * 210));
  }
}

BOOST_AUTO_TEST_CASE(polling_application_is_watched_ever_more_rarely) {
  Bench bench({.over_kernel = true});
  BOOST_REQUIRE(bench.comes_to_rest(milliseconds(1)));
  Duration longest{};
  std::uint64_t sleeps = 0;
  const Time end = bench.now() + milliseconds(100);
  bool was_asleep = true;
  bench.happen(Event::kick);
  Time began = bench.now();
  while (bench.now() < end) {
    bench.happen(Event::poll);
    if (bench.asleep && !was_asleep) {
      BOOST_REQUIRE(!bench.last.listens);
      began = bench.now();
      ++sleeps;
    }
    if (!bench.asleep && was_asleep) longest = std::max(longest, bench.now() - began);
    was_asleep = bench.asleep;
  }
  BOOST_TEST((longest >= WaitPolicy::kWatchMax - kPass * 4));
  BOOST_TEST(sleeps <= 24u);  // 100 ms in watches of up to 8
  BOOST_TEST(bench.left_out >= sleeps / 2);
}

/// The watch under way is left to the application, which has polled within it; the next one, twice as long, is not.
BOOST_AUTO_TEST_CASE(frame_after_the_last_poll_waits_two_watches_at_most) {
  for (const bool over_kernel : {false, true}) {
    for (int polled_us = 100; polled_us <= 20'000; polled_us += 170) {
      Bench bench({.over_kernel = over_kernel});
      BOOST_REQUIRE(bench.comes_to_rest(milliseconds(1)));
      bench.happen(Event::kick);
      const Time began = bench.now();
      while (bench.now() - began < microseconds(polled_us)) bench.happen(Event::poll);
      const Duration polled = bench.now() - began;
      bench.happen(Event::frame);
      const Time arrived = bench.arrived_at;
      while (bench.frames != 0) bench.step();
      const Duration watch_min = over_kernel ? WaitPolicy::kWatchMinKernel : WaitPolicy::kWatchMin;
      const Duration bound = std::min(polled * 3 + watch_min * 2, WaitPolicy::kWatchMax * 2) + kPass * 8;
      BOOST_REQUIRE_MESSAGE((bench.now() - arrived <= bound),
                            polled_us << " us polled, waits " << (bench.now() - arrived).ns << " ns");
    }
  }
}
