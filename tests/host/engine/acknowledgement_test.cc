// Acknowledgements that wait for an answer, in virtual time: every order of what a peer, an application and the
// progress thread do, up to a length, the thread's own steps and the application's wake-ups of it in between. None
// waits for longer than a peer can bear, whatever the application does or leaves undone, and none begins to wait for
// who is asleep.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "emulator/host/engine/acknowledgement_policy.h"
#include "emulator/host/engine/sleep_plan.h"
#include "emulator/host/engine/wait_policy.h"

using namespace verbena;
using namespace verbena::host;

namespace {

using Acknowledge = AcknowledgementPolicy::Acknowledge;
constexpr Duration kPass = microseconds(1);
constexpr std::size_t kReceiveBudget = 2;  // of a pass: small, so that batches end within a short order
constexpr std::uint32_t kPassesPerClock = 16;
constexpr int kPassesToLeave = 4;
constexpr int kAppCore = 0;
constexpr int kThreadCore = 1;

/// What happens next. `thread`: one step of the thread, while the application stands still before it has woken it.
enum class Event : std::uint8_t { thread, request, completion, poll, post, call, app_sleeps, moment, prompt, watch };
constexpr std::array kEvents{Event::thread, Event::request,    Event::completion, Event::poll,   Event::post,
                             Event::call,   Event::app_sleeps, Event::moment,     Event::prompt, Event::watch};
constexpr std::array kEventNames{"thread", "request",    "completion", "poll",   "post",
                                 "call",   "app-sleeps", "moment",     "prompt", "watch"};

/// What an engine, its NIC and its link are to the policies: the same calls in the same regions of the lock.
class Model {
 public:
  explicit Model(bool over_kernel, bool wants_one_answer_for_all)
      : over_kernel_(over_kernel),
        wants_one_answer_for_all_(wants_one_answer_for_all),
        wait_(over_kernel, activity_, now_) {}

  void happen(Event event) {
    if (event == Event::thread) return step_thread();
    deliver_kick();  // the application goes on
    switch (event) {
      case Event::thread:
        break;
      case Event::request:
        ++requests_;
        ring();
        break;
      case Event::completion:
        if (outstanding_ == arriving_ + completions_) break;  // nothing to complete
        ++arriving_;
        ring();
        break;
      case Event::poll:
        poll();
        break;
      case Event::post:
        post();
        break;
      case Event::call:
        acknowledge();
        finish_call();
        break;
      case Event::app_sleeps:
        sleep_app();
        break;
      case Event::moment:
        pass_time(kPass);
        break;
      case Event::prompt:
        pass_time(PingPongDetector::kPrompt + kPass);
        break;
      case Event::watch:
        pass_time(WaitPolicy::kWatchMin + kPass);
        break;
    }
  }

  /// So many questions, each answered at once by an application that looks for them in its memory or polls.
  void play_ping_pong(int turns, bool polls) {
    for (int i = 0; i < turns; ++i) {
      happen(Event::request);
      do {
        if (polls) happen(Event::poll);
        happen(Event::moment);
      } while (requests_ != 0);
      happen(Event::post);
      happen(Event::completion);
      do {
        happen(Event::poll);
        happen(Event::moment);
      } while (outstanding_ != 0);
    }
  }
  void poll_for(Duration how_long) {
    for (const Time end = now_ + how_long; now_ < end;) {
      happen(Event::poll);
      happen(Event::moment);
    }
  }
  /// The thread and the clock go on, and nothing else happens.
  void pass_time(Duration how_long) {
    deliver_kick();
    const Time end = now_ + how_long;
    for (;;) {
      while (is_runnable() && now_ < end) step_thread();
      if (now_ >= end) return;
      now_ = std::min(end, sleeps_until_);
    }
  }

  bool holds() const { return holds_; }
  std::uint64_t answers_with_acknowledgement() const { return together_; }
  std::uint64_t kicks() const { return kicks_; }
  /// The longest that one has waited.
  Duration waited_max() const { return std::max(waited_max_, holds_ ? now_ - held_since_ : Duration{}); }
  /// Whether one has ever waited while the application was asleep for an event.
  bool has_waited_for_sleeper() const { return has_waited_for_sleeper_; }

 private:
  enum class Thread : std::uint8_t { looks, goes_to_sleep, sleeps };

  // -- The thread (ProgressThread::main) --

  bool is_runnable() const { return thread_ != Thread::sleeps || is_kicked_ || is_rung_ || now_ >= sleeps_until_; }
  void step_thread() {
    switch (thread_) {
      case Thread::looks: {
        now_ = now_ + kPass;
        WaitPolicy::Seen seen;
        const bool is_left_out = wait_.leaves_it_to_app(activity());
        if (!is_left_out && pass(true, activity().sleeps ? Acknowledge::at_once : Acknowledge::with_answer))
          seen.look = WaitPolicy::Look::worked;
        seen.activity = activity();
        seen.core = kThreadCore;
        seen_ = seen.activity;
        decision_ = wait_.step(seen, now_, [] { return false; });
        if (decision_.sleeps) thread_ = Thread::goes_to_sleep;
        return;
      }
      case Thread::goes_to_sleep: {  // Engine::ThreadSide::prepare_sleep
        thread_ = Thread::looks;
        if (decision_.listens && !plan_.app_resumes_polling(now_) && !arm()) return wait_.sleep_was_refused(now_);
        const SleepPlan::Due due{.acknowledgement = policy_.due(holds_)};
        sleeps_until_ = plan_.begin_sleep(now_, decision_.listens, decision_.longest, due, policy_.expects_answers(),
                                          activity_.polls);
        is_known_to_sleep_ = true;
        wait_.sleeps(seen_, sleeps_until_);
        thread_ = Thread::sleeps;
        return;
      }
      case Thread::sleeps: {
        if (!is_runnable()) return;
        const WaitPolicy::Wake why = is_rung_     ? WaitPolicy::Wake::frames
                                     : is_kicked_ ? WaitPolicy::Wake::control
                                                  : WaitPolicy::Wake::time;
        is_kicked_ = is_rung_ = is_known_to_sleep_ = false;
        thread_ = Thread::looks;
        wait_.woke(why, activity(), now_);
        return;
      }
    }
  }

  // -- The application's calls, as in engine.cc. The lock makes one step of each, up to its kick --

  void poll() {
    now_ = now_ + nanoseconds(100);
    ++activity_.polls;
    bool count = take_completion();
    plan_.app_polls();
    if (count && outstanding_ != 0) return disarm();
    if (!count) {
      disarm();
      activity_.core = kAppCore;
    } else if (leave_to_thread()) {
      return;
    }
    bool worked = pass(false, Acknowledge::with_answer);
    count = count || take_completion();
    for (int passes = 0; count && app_stops_polling() && !leave_to_thread() && passes < kPassesToLeave; ++passes)
      worked = pass(true, Acknowledge::with_answer) || worked;
    if (worked && must_wake()) kick_is_due_ = true;
  }
  void post() {
    now_ = now_ + nanoseconds(100);
    ++outstanding_;
    policy_.answered(now_);  // Pass::send_answer
    if (holds_) ++together_;
    acknowledge();
    finish_call();
  }
  void sleep_app() {  // Engine::expect_sleep
    acknowledge();
    const bool armed = arm();
    if (is_known_to_sleep_ && !armed) {
      is_known_to_sleep_ = false;
      kick_is_due_ = true;
    }
    active_at_sleep_ = activity_.polls + activity_.calls;
  }
  void finish_call() {
    last_now_ = std::max(last_now_, now_);
    ++activity_.calls;
    activity_.core = kAppCore;
    if (plan_.app_calls(last_now_, [&] { return outstanding_ != 0; })) disarm();
    if (must_wake()) kick_is_due_ = true;
  }
  void deliver_kick() {
    if (!std::exchange(kick_is_due_, false)) return;
    ++kicks_;
    is_kicked_ = true;
  }

  bool must_wake() {
    if (!is_known_to_sleep_) return false;
    if (!plan_.must_wake(sleeps_until_, activity_.polls, policy_.due(holds_), [] { return kNever; })) return false;
    is_known_to_sleep_ = false;
    return true;
  }
  bool app_stops_polling() const { return (policy_.waits_for_next_pass() || !holds_) && outstanding_ == 0; }
  bool leave_to_thread() {
    if (!app_stops_polling()) return false;
    plan_.app_stops_polling();
    return arm();
  }
  WaitPolicy::Activity activity() const {
    WaitPolicy::Activity seen = activity_;
    seen.sleeps = activity_.polls + activity_.calls == active_at_sleep_;
    return seen;
  }

  // -- The NIC and the link --

  bool pass(bool fresh_clock, Acknowledge when) {
    if (++empty_passes_ % kPassesPerClock == 0) fresh_clock = true;
    const std::size_t frames = std::min<std::size_t>(requests_ + arriving_, kReceiveBudget);
    if (fresh_clock || frames != 0) last_now_ = now_;
    std::size_t executed = 0;
    for (std::size_t i = 0; i < frames; ++i) {
      if (requests_ != 0) {
        --requests_;
        ++executed;
      } else {
        --arriving_;
        ++completions_;
      }
    }
    policy_.took(frames == kReceiveBudget);
    if (executed == 0 && !holds_) return frames != 0;
    when = policy_.of_pass(last_now_, frames, when == Acknowledge::with_answer, holds_,
                           [&] { return wants_one_answer_for_all_ && requests_ != 0; });
    if (when == Acknowledge::with_answer && !holds_) {
      holds_ = true;
      held_since_ = now_;
    } else if (when == Acknowledge::at_once) {
      acknowledge();
    }
    if (executed != 0 || holds_) policy_.executed(last_now_);
    if (holds_ && activity().sleeps) has_waited_for_sleeper_ = true;
    return frames != 0 || !holds_;
  }
  void acknowledge() {
    if (!holds_) return;
    waited_max_ = waited_max();
    holds_ = false;
  }
  bool take_completion() {
    if (completions_ == 0) return false;
    --completions_;
    --outstanding_;
    return true;
  }
  void ring() {
    if (!is_armed_) return;
    is_armed_ = false;
    is_rung_ = true;
  }
  bool arm() {
    is_armed_ = requests_ + arriving_ == 0;
    return is_armed_;
  }
  void disarm() {
    if (over_kernel_ && plan_.rests() && is_known_to_sleep_) return;
    is_armed_ = false;
  }

  bool over_kernel_;
  bool wants_one_answer_for_all_;
  Time now_ = Time{} + milliseconds(1);
  Time last_now_ = now_;
  WaitPolicy::Activity activity_;
  std::uint64_t active_at_sleep_ = 0;
  WaitPolicy wait_;
  SleepPlan plan_;
  AcknowledgementPolicy policy_;
  std::uint32_t empty_passes_ = 0;

  std::uint32_t requests_ = 0;     // in the link, as are
  std::uint32_t arriving_ = 0;     // answers to what was posted
  std::uint32_t outstanding_ = 0;  // posted, not polled for
  std::uint32_t completions_ = 0;  // wait for a poll
  bool holds_ = false;
  Time held_since_{};
  bool is_armed_ = false;

  Thread thread_ = Thread::looks;
  WaitPolicy::Decision decision_;
  WaitPolicy::Activity seen_;
  Time sleeps_until_ = kNever;
  bool is_known_to_sleep_ = false;  // ThreadSleep
  bool is_kicked_ = false;
  bool is_rung_ = false;
  bool kick_is_due_ = false;  // the application has left the lock and not written to the eventfd

  Duration waited_max_{};
  bool has_waited_for_sleeper_ = false;
  std::uint64_t together_ = 0;
  std::uint64_t kicks_ = 0;
};

/// Where the orders begin.
enum class Before : std::uint8_t { nothing, passive_ping_pong, polled_ping_pong, trained_in_a_long_watch };
constexpr std::array kBefore{Before::nothing, Before::passive_ping_pong, Before::polled_ping_pong,
                             Before::trained_in_a_long_watch};

Model begun(Before before, bool over_kernel, bool wants_one) {
  Model model(over_kernel, wants_one);
  model.pass_time(milliseconds(20));
  switch (before) {
    case Before::nothing:
      break;
    case Before::passive_ping_pong:
      model.play_ping_pong(2 * PingPongDetector::kExpectedFrom, false);
      break;
    case Before::polled_ping_pong:
      model.play_ping_pong(2 * PingPongDetector::kExpectedFrom, true);
      break;
    case Before::trained_in_a_long_watch:
      // The thread sleeps for as long as it ever does, and the ping-pong begins while it does.
      model.poll_for(milliseconds(17));
      model.play_ping_pong(2 * PingPongDetector::kExpectedFrom, true);
      break;
  }
  return model;
}

struct Found {
  Duration waited_max{};
  std::uint64_t orders = 0;
  std::uint64_t orders_that_hold = 0;
};

void explore(const Model& from, std::size_t left, std::string& order, Found& found) {
  if (left == 0) {
    ++found.orders;
    if (from.holds()) ++found.orders_that_hold;
    Model resting = from;
    resting.pass_time(WaitPolicy::kWatchMax * 3);
    BOOST_REQUIRE_MESSAGE(!resting.holds(), "never leaves after" << order);
    BOOST_REQUIRE_MESSAGE(!resting.has_waited_for_sleeper(), "waits for a sleeper after" << order);
    found.waited_max = std::max(found.waited_max, resting.waited_max());
    const Duration most = PingPongDetector::kPrompt + SleepPlan::kSlack + kPass * 40;
    BOOST_REQUIRE_MESSAGE((resting.waited_max() <= most), resting.waited_max().ns << " ns after" << order);
    return;
  }
  const std::size_t before = order.size();
  for (const Event event : kEvents) {
    Model next = from;
    next.happen(event);
    order += std::string(" ") + kEventNames[static_cast<std::size_t>(event)];
    explore(next, left - 1, order, found);
    order.resize(before);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(after_every_order_of_events_none_has_waited_for_long) {
  for (const Before before : kBefore) {
    for (const bool over_kernel : {false, true}) {
      for (const bool wants_one : {false, true}) {
        std::string order = " start " + std::to_string(static_cast<int>(before)) + (over_kernel ? " kernel" : " shm");
        Found found;
        explore(begun(before, over_kernel, wants_one), 5, order, found);
        BOOST_TEST_MESSAGE(order << ": " << found.orders << " orders, " << found.orders_that_hold
                                 << " end with one that waits, at most " << found.waited_max.ns << " ns");
        // Where answers are expected, or a batch is long, some do wait.
        if (before != Before::nothing || wants_one) BOOST_TEST(found.orders_that_hold > 0u);
        if (before == Before::nothing && !wants_one) BOOST_TEST(found.waited_max.ns == 0);
      }
    }
  }
}

/// That it is worth it: in a ping-pong every acknowledgement leaves with the answer, and nobody is woken for it.
BOOST_AUTO_TEST_CASE(in_a_ping_pong_each_leaves_with_the_answer) {
  for (const bool over_kernel : {false, true}) {
    for (const bool polls : {false, true}) {
      Model model = begun(polls ? Before::polled_ping_pong : Before::passive_ping_pong, over_kernel, false);
      const std::uint64_t together = model.answers_with_acknowledgement();
      const std::uint64_t kicks = model.kicks();
      model.play_ping_pong(1000, polls);
      BOOST_TEST(model.answers_with_acknowledgement() - together == 1000u);
      BOOST_TEST(model.kicks() - kicks <= 1u);
    }
  }
}
