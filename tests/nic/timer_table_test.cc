// The timers of a QP, each with a deadline of its own, and the earliest of them.
#include "emulator/nic/objects/timer_table.h"

#include <boost/test/unit_test.hpp>

namespace verbena::nic {
namespace {

constexpr std::array<Timer, kTimers> kAll{Timer::ack, Timer::rnr, Timer::pages, Timer::pace};

constexpr Time at(std::int64_t ns) {
  return Time{ns};
}

BOOST_AUTO_TEST_CASE(no_timer_runs_at_first) {
  TimerTable timers;
  for (const Timer timer : kAll) {
    BOOST_TEST(!timers.runs(timer));
    BOOST_TEST(!timers.take_due(timer, at(INT64_MAX - 1)));
  }
  BOOST_CHECK(timers.next() == kNever);
}

BOOST_AUTO_TEST_CASE(each_timer_has_a_deadline_of_its_own) {
  for (const Timer timer : kAll) {
    TimerTable timers;
    timers.start(timer, at(5));
    for (const Timer other : kAll) BOOST_TEST(timers.runs(other) == (other == timer));
    BOOST_CHECK(timers.deadline(timer) == at(5));
    BOOST_CHECK(timers.next() == at(5));
  }
}

BOOST_AUTO_TEST_CASE(the_next_deadline_is_the_earliest_of_those_that_run) {
  TimerTable timers;
  for (std::size_t i = 0; i < kTimers; ++i) timers.start(kAll[i], at(10 - static_cast<std::int64_t>(i)));
  for (std::size_t i = kTimers; i-- > 0;) {
    BOOST_CHECK(timers.next() == at(10 - static_cast<std::int64_t>(i)));
    timers.stop(kAll[i]);
  }
  BOOST_CHECK(timers.next() == kNever);
}

BOOST_AUTO_TEST_CASE(a_timer_that_starts_again_forgets_its_old_deadline) {
  TimerTable timers;
  timers.start(Timer::ack, at(5));
  timers.start(Timer::ack, at(9));
  BOOST_CHECK(timers.next() == at(9));
  timers.start(Timer::ack, at(7));
  BOOST_CHECK(timers.next() == at(7));
}

BOOST_AUTO_TEST_CASE(a_timer_is_due_once_at_its_deadline_and_not_before) {
  TimerTable timers;
  timers.start(Timer::rnr, at(5));
  timers.start(Timer::pace, at(6));
  BOOST_TEST(!timers.take_due(Timer::rnr, at(4)));
  BOOST_TEST(timers.runs(Timer::rnr));
  BOOST_TEST(timers.take_due(Timer::rnr, at(5)));
  BOOST_TEST(!timers.take_due(Timer::rnr, at(5)));
  BOOST_TEST(timers.runs(Timer::pace));
}

BOOST_AUTO_TEST_CASE(postponing_only_moves_a_deadline_later_and_starts_nothing) {
  TimerTable timers;
  timers.postpone(Timer::ack, at(5));
  BOOST_TEST(!timers.runs(Timer::ack));
  timers.start(Timer::ack, at(5));
  timers.postpone(Timer::ack, at(3));
  BOOST_CHECK(timers.deadline(Timer::ack) == at(5));
  timers.postpone(Timer::ack, at(8));
  BOOST_CHECK(timers.deadline(Timer::ack) == at(8));
}

BOOST_AUTO_TEST_CASE(stopping_all_leaves_none) {
  TimerTable timers;
  for (const Timer timer : kAll) timers.start(timer, at(1));
  timers.stop_all();
  BOOST_CHECK(timers.next() == kNever);
}

}  // namespace
}  // namespace verbena::nic
