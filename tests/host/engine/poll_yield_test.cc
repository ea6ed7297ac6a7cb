// When an application that polls in vain lets go of its core: for whom, how often, and what a long yield teaches.
#include "emulator/host/engine/poll_yield.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using verbena::host::PollYield;

namespace {
using Kind = PollYield::Kind;
using Neighbour = PollYield::Neighbour;
constexpr Time kStart{1'000'000};
constexpr Duration kSlice = milliseconds(3);

std::uint32_t polls_until_due(PollYield& yield) {
  std::uint32_t polls = 1;
  while (!yield.is_due()) ++polls;
  return polls;
}
}  // namespace

BOOST_AUTO_TEST_CASE(core_sharing_is_asked_after_a_long_wait_and_soon_once_found) {
  PollYield yield;
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  yield.of(Neighbour::has_our_frames, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsBeside);
  yield.of(Neighbour::nobody, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
}

BOOST_AUTO_TEST_CASE(it_does_not_ask_while_answers_come_in_time) {
  PollYield yield;
  for (int turn = 0; turn < 1000; ++turn) {
    for (std::uint32_t poll = 1; poll < PollYield::kPollsAlone; ++poll) BOOST_REQUIRE(!yield.is_due());
    yield.found();
  }
}

BOOST_AUTO_TEST_CASE(it_asks_for_the_number_of_cores_at_first_and_then_seldom) {
  PollYield yield;
  int asks = 0;
  std::uint32_t first = 0;
  for (std::uint32_t due = 1; due <= 2 * PollYield::kAsksToAskForCores;) {
    if (!yield.is_due()) continue;
    yield.of(Neighbour::nobody, kStart);
    if (yield.is_due_for_cores() && asks++ == 0) first = due;
    ++due;
  }
  BOOST_TEST(asks == 2);
  BOOST_TEST(first == 1U);
}

BOOST_AUTO_TEST_CASE(nobody_beside_no_yield) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::nobody, kStart) == Kind::none));
}

BOOST_AUTO_TEST_CASE(peer_with_our_frames_gets_the_core_for_any_time) {
  PollYield yield;
  Time now = kStart;
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST((yield.of(Neighbour::has_our_frames, now) == Kind::sure));
    yield.yielded(Kind::sure, now, now + kSlice);
    now = now + kSlice;
  }
  // What it kept says nothing about others.
  BOOST_TEST((yield.of(Neighbour::awake, now) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(long_yield_to_a_merely_awake_peer_is_followed_by_a_pause) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::awake, kStart) == Kind::tentative));
  const Time back = kStart + kSlice;
  yield.yielded(Kind::tentative, kStart, back);
  const Time again = back + kSlice * PollYield::kRestsAfterLong;
  BOOST_TEST((yield.of(Neighbour::awake, back) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::awake, again - Duration{1}) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::has_our_frames, back) == Kind::sure));
  BOOST_TEST((yield.of(Neighbour::awake, again) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(a_long_yield_after_which_something_is_found_was_worth_it) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::awake, kStart) == Kind::tentative));
  const Time back = kStart + kSlice;
  yield.yielded(Kind::tentative, kStart, back);
  yield.found();
  BOOST_TEST((yield.of(Neighbour::awake, back) == Kind::tentative));
  // But not what is found without one.
  yield.found();
  yield.yielded(Kind::tentative, back, back + kSlice);
  yield.found();
  BOOST_TEST((yield.of(Neighbour::awake, back + kSlice) == Kind::none));
}

BOOST_AUTO_TEST_CASE(short_yields_go_on) {
  PollYield yield;
  Time now = kStart;
  for (int i = 0; i < 10000; ++i) {
    BOOST_TEST((yield.of(Neighbour::awake, now) == Kind::tentative));
    yield.yielded(Kind::tentative, now, now + microseconds(2));
    now = now + microseconds(3);
  }
}

BOOST_AUTO_TEST_CASE(absent_peer_soon_counts_as_any_other_until_a_find) {
  PollYield yield;
  for (std::uint32_t i = 0; i < PollYield::kSureYields; ++i)
    BOOST_TEST((yield.of(Neighbour::has_our_frames, kStart) == Kind::sure));
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kStart) == Kind::tentative));
  yield.yielded(Kind::tentative, kStart, kStart + kSlice);
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kStart + kSlice) == Kind::none));
  yield.found();
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kStart + kSlice) == Kind::sure));
}

BOOST_AUTO_TEST_CASE(many_yields_in_vain_end_in_a_nap) {
  PollYield yield;
  const auto naps = [&](Duration took) { return yield.yielded(Kind::sure, kStart, kStart + took); };
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i < PollYield::kYieldsBeforeNap; ++i) BOOST_TEST(!naps(nanoseconds(400)));
    BOOST_TEST(naps(nanoseconds(400)));
  }
  for (std::uint32_t i = 1; i < 2 * PollYield::kYieldsBeforeNap; ++i)
    BOOST_TEST(!naps(i % PollYield::kYieldsBeforeNap == 0 ? microseconds(4) : nanoseconds(400)));
}
