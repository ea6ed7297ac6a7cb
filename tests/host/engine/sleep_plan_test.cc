// Which calls of the application wake the progress thread.
#include "emulator/host/engine/sleep_plan.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::host;

namespace {

constexpr Time kNow{seconds(1).ns};
constexpr Time kTimer = kNow + seconds(1);
constexpr Time kSoon = kNow + microseconds(50);  // when the link may have room for what it had none for

/// The thread listens, with a timer of its own far away.
Time rests(SleepPlan& plan) {
  return plan.begin_sleep(kNow, true, kNever, {.deadline = kTimer}, false, 7);
}
/// It looks in a moment whether the application still polls.
Time watches(SleepPlan& plan) {
  return plan.begin_sleep(kNow, false, kNow + WaitPolicy::kWatchMax, {.deadline = kTimer}, false, 7);
}

}  // namespace

BOOST_AUTO_TEST_CASE(work_without_room_in_the_link_wakes_a_resting_thread) {
  SleepPlan plan;
  const Time until = rests(plan);
  BOOST_TEST((until == kTimer));
  BOOST_TEST(plan.must_wake(until, 7, kNever, [] { return kSoon; }));
  BOOST_TEST(plan.must_wake(until, 8, kNever, [] { return kSoon; }));
  BOOST_TEST(!plan.must_wake(until, 8, kNever, [] { return kTimer; }));
  BOOST_TEST(!plan.must_wake(until, 8, kNever, [] { return kNever; }));
}

BOOST_AUTO_TEST_CASE(watching_thread_leaves_all_but_acks_to_a_polling_application) {
  SleepPlan plan;
  const Time until = watches(plan);
  BOOST_TEST(plan.must_wake(until, 7, kNever, [] { return kSoon; }));
  BOOST_TEST(!plan.must_wake(until, 8, kNever, [] { return kSoon; }));
  BOOST_TEST(plan.must_wake(until, 8, kSoon, [] { return kNever; }));
}

BOOST_AUTO_TEST_CASE(sleeping_application_leaves_everything_to_the_thread) {
  SleepPlan plan;
  for (const Time until : {rests(plan), watches(plan)}) {
    BOOST_TEST(SleepPlan::must_wake_for_sleeper(until, {.deadline = kSoon}));
    BOOST_TEST(SleepPlan::must_wake_for_sleeper(until, {.acknowledgement = kSoon}));
    BOOST_TEST(!SleepPlan::must_wake_for_sleeper(until, {.deadline = kTimer}));
    BOOST_TEST(!SleepPlan::must_wake_for_sleeper(until, {}));
  }
  BOOST_TEST(SleepPlan::must_wake_for_sleeper(kNever, {.deadline = kTimer}));
}
