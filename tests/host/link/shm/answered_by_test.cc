// Whether a peer has answered, by what it says: for whom a timer waits, and for how long.
#include "emulator/host/link/shm/answered_by.h"

#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/process_page.h"

using namespace verbena;
using namespace verbena::host;

namespace {
constexpr Duration kPatience = milliseconds(1000);
constexpr Time kAsked{5'000'000'000};
constexpr Duration kMoment = milliseconds(1);

/// Whether it is at the last of the looks that are made from one time to another.
bool is_given_up(AnsweredBy& answers, Time asked, Time from, Time to) {
  for (Time now = from; now < to; now = now + kMoment * 100) BOOST_TEST(!answers.has_answered(asked, now));
  return answers.has_answered(asked, to);
}
}  // namespace

BOOST_AUTO_TEST_CASE(who_has_answered_all_of_that_time_is_not_waited_for) {
  AnsweredBy answers(kPatience);
  answers.look(kAsked);
  BOOST_TEST(answers.has_answered(kAsked, kAsked + kMoment));
  answers.look(kNever);
  BOOST_TEST(answers.has_answered(kAsked, kAsked + kMoment));
}

BOOST_AUTO_TEST_CASE(who_has_said_nothing_since_is_waited_for_and_then_no_more) {
  AnsweredBy answers(kPatience);
  answers.look(kAsked - kMoment);
  const Time first = kAsked + kMoment * 100;
  BOOST_TEST(!is_given_up(answers, kAsked, first, first + kPatience - Duration{1}));
  BOOST_TEST(answers.has_answered(kAsked, first + kPatience));
  // A dead network stays one: later timers run out in time.
  BOOST_TEST(answers.has_answered(first, first + kPatience + kMoment));
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_heard_of_again_is_waited_for_again) {
  AnsweredBy answers(kPatience);
  BOOST_TEST(is_given_up(answers, kAsked, kAsked, kAsked + kPatience));
  const Time back = kAsked + kPatience * 2;
  answers.look(back);
  BOOST_TEST(answers.has_answered(back, back + kMoment));
  BOOST_TEST(!is_given_up(answers, back + kMoment, back + kMoment * 2, back + kMoment + kPatience));
  BOOST_TEST(answers.has_answered(back + kMoment, back + kMoment * 2 + kPatience));
}

BOOST_AUTO_TEST_CASE(a_peer_is_not_given_up_over_a_time_in_which_nobody_asked) {
  AnsweredBy answers(kPatience);
  answers.look(kAsked - kMoment);
  BOOST_TEST(!answers.has_answered(kAsked, kAsked + kMoment));
  // The machine stood still, with both.
  BOOST_TEST(!answers.has_answered(kAsked, kAsked + kPatience * 10));
  answers.look(kAsked + kPatience * 10);
  BOOST_TEST(answers.has_answered(kAsked, kAsked + kPatience * 10 + kMoment));
}

BOOST_AUTO_TEST_CASE(a_process_that_rests_over_what_it_has_taken_has_answered_it) {
  alignas(64) static ProcessPage page{};
  alignas(64) static WakePage wake{};
  OwnPage own(page, wake);
  own.has_looked(kAsked);
  own.rests(kNever);
  BOOST_TEST((answered_by(page, true) == kAsked));  // it is awake
  BOOST_REQUIRE(own.doorbell().arm([] { return false; }));
  BOOST_TEST((answered_by(page, true) == kNever));
  BOOST_TEST((answered_by(page, false) == kAsked));  // there is something for it
  own.rests(Time{});                                 // it owes an answer
  BOOST_TEST((answered_by(page, true) == kAsked));
  own.rests(kNever);
  own.doorbell().disarm();  // it looks again, and says when it has answered
  BOOST_TEST((answered_by(page, true) == kAsked));
}
