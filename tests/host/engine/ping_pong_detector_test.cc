// When the answer to a request is expected at once.
#include "emulator/host/engine/ping_pong_detector.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::host;

namespace {

constexpr Duration kLate = PingPongDetector::kPrompt + nanoseconds(1);

/// A request each millisecond, answered after `delay`.
void play(PingPongDetector& answers, std::uint32_t rounds, Duration delay, Time& now) {
  for (std::uint32_t i = 0; i < rounds; ++i) {
    answers.received(now);
    answers.sent(now + delay);
    now = now + milliseconds(1);
  }
}

struct Habit {
  PingPongDetector answers;
  Time now = Time{} + seconds(1);
};

}  // namespace

BOOST_AUTO_TEST_CASE(enough_prompt_answers_let_expect_the_next) {
  Habit habit;
  play(habit.answers, PingPongDetector::kExpectedFrom - 1, PingPongDetector::kPrompt, habit.now);
  BOOST_TEST(!habit.answers.are_expected());
  play(habit.answers, 1, PingPongDetector::kPrompt, habit.now);
  BOOST_TEST(habit.answers.are_expected());
}

BOOST_AUTO_TEST_CASE(late_ones_do_not) {
  Habit habit;
  play(habit.answers, 10 * PingPongDetector::kExpectedFrom, kLate, habit.now);
  BOOST_TEST(!habit.answers.are_expected());
}

BOOST_AUTO_TEST_CASE(a_habit_outlasts_two_misses_and_not_a_third) {
  Habit habit;
  play(habit.answers, 10 * PingPongDetector::kExpectedFrom, nanoseconds(0), habit.now);
  play(habit.answers, 1, kLate, habit.now);
  habit.answers.received(habit.now);
  habit.answers.missed();
  BOOST_TEST(habit.answers.are_expected());
  play(habit.answers, 1, kLate, habit.now);
  BOOST_TEST(!habit.answers.are_expected());
}

BOOST_AUTO_TEST_CASE(peer_late_with_every_other_answer_is_not_taken_for_prompt) {
  Habit habit;
  for (int i = 0; i < 1000; ++i) {
    play(habit.answers, 1, nanoseconds(0), habit.now);
    play(habit.answers, 1, kLate, habit.now);
  }
  BOOST_TEST(!habit.answers.are_expected());
}

BOOST_AUTO_TEST_CASE(an_answer_to_several_requests_is_late_by_the_first) {
  Habit habit;
  habit.answers.received(habit.now);
  const Time due = habit.answers.due();
  BOOST_TEST((due - habit.now).ns == PingPongDetector::kPrompt.ns);
  habit.answers.received(due);
  BOOST_TEST(habit.answers.due().ns == due.ns);
  BOOST_TEST(!habit.answers.is_overdue(due));
  BOOST_TEST(habit.answers.is_overdue(due + nanoseconds(1)));
}

BOOST_AUTO_TEST_CASE(what_nobody_has_asked_for_is_no_answer) {
  Habit habit;
  for (std::uint32_t i = 0; i < 10 * PingPongDetector::kExpectedFrom; ++i) habit.answers.sent(habit.now);
  BOOST_TEST(!habit.answers.are_expected());
  BOOST_TEST((habit.answers.due() == kNever));
  BOOST_TEST(!habit.answers.is_overdue(habit.now));
}
