// When an application that polls in vain lets go of its core: for whom, how often, and what a rest in vain teaches.
#include "emulator/host/engine/poll_yield.h"

#include <boost/test/unit_test.hpp>

#include "emulator/host/engine/core_share.h"

using namespace verbena;
using verbena::host::CoreShare;
using verbena::host::PollYield;

namespace {
using Kind = PollYield::Kind;
using Neighbour = PollYield::Neighbour;
constexpr Time kStart{1'000'000};
constexpr bool kOwnCore = false;
constexpr bool kSharedCore = true;

std::uint32_t polls_until_due(PollYield& yield) {
  std::uint32_t polls = 1;
  while (!yield.is_due()) ++polls;
  return polls;
}
}  // namespace

BOOST_AUTO_TEST_CASE(core_sharing_is_asked_after_a_long_wait_and_soon_once_found) {
  PollYield yield;
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  yield.of(Neighbour::has_our_frames, kOwnCore, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsBeside);
  yield.of(Neighbour::nobody, kOwnCore, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  yield.of(Neighbour::nobody, kSharedCore, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsBeside);
}

BOOST_AUTO_TEST_CASE(it_does_not_ask_while_answers_come_in_time) {
  PollYield yield;
  for (int turn = 0; turn < 1000; ++turn) {
    for (std::uint32_t poll = 1; poll < PollYield::kPollsAlone; ++poll) BOOST_REQUIRE(!yield.is_due());
    yield.found();
  }
}

BOOST_AUTO_TEST_CASE(nobody_beside_no_rest) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::nobody, kOwnCore, kStart) == Kind::none));
}

BOOST_AUTO_TEST_CASE(core_that_others_use_is_left_to_them_again_and_again) {
  PollYield yield;
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST((yield.of(Neighbour::nobody, kSharedCore, kStart) == Kind::shared_core));
    yield.ran_out(Kind::shared_core, kStart);
  }
}

BOOST_AUTO_TEST_CASE(peer_with_our_frames_or_at_rest_gets_the_core_for_long) {
  for (const Neighbour neighbour : {Neighbour::has_our_frames, Neighbour::rests}) {
    PollYield yield;
    for (int i = 0; i < 10'000; ++i) BOOST_TEST((yield.of(neighbour, kOwnCore, kStart) == Kind::sure));
    BOOST_TEST((PollYield::longest(Kind::sure) > PollYield::longest(Kind::tentative)));
    BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kStart) == Kind::tentative));
  }
}

BOOST_AUTO_TEST_CASE(rest_in_vain_for_a_merely_awake_peer_is_followed_by_a_pause) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kStart) == Kind::tentative));
  const Time back = kStart + PollYield::kUnsure;
  yield.ran_out(Kind::tentative, back);
  const Time again = back + PollYield::kUnsure * PollYield::kPausesAfter;
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, back) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, again - Duration{1}) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, back) == Kind::sure));
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, again) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(rest_after_which_something_is_found_was_worth_it) {
  PollYield yield;
  yield.ran_out(Kind::tentative, kStart);
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kStart) == Kind::none));
  yield.found();
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kStart) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(absent_peer_soon_counts_as_any_other_until_a_find) {
  PollYield yield;
  for (std::uint32_t i = 0; i < PollYield::kSureRests; ++i) {
    BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kStart) == Kind::sure));
    yield.ran_out(Kind::sure, kStart);
  }
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kStart) == Kind::tentative));
  yield.ran_out(Kind::tentative, kStart);
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kStart) == Kind::none));
  yield.found();
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kStart) == Kind::sure));
}

// -- CoreShare --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(core_is_shared_once_others_have_had_a_part_of_it) {
  CoreShare share;
  Time at = kStart;
  Duration cpu{};
  const auto spin = [&](Duration length, Duration others) {
    at = at + length + others;
    cpu = cpu + length;
    return share.look({.at = at, .cpu = cpu});
  };
  for (int i = 0; i < 1000; ++i) BOOST_TEST(!spin(microseconds(50), microseconds(2)));  // interrupts and the like
  BOOST_TEST(spin(microseconds(50), milliseconds(3)));
  const Time believed_until = at + CoreShare::kBelievedFor;
  while (at + microseconds(50) < believed_until) BOOST_TEST(spin(microseconds(50), Duration{}));
  BOOST_TEST(!spin(microseconds(50), Duration{}));
}

BOOST_AUTO_TEST_CASE(time_slept_is_nobody_elses) {
  CoreShare share;
  share.look({.at = kStart, .cpu = {}});
  share.restart();
  BOOST_TEST(!share.look({.at = kStart + seconds(1), .cpu = {}}));
  BOOST_TEST(!share.look({.at = kStart + seconds(1) + milliseconds(2), .cpu = milliseconds(2)}));
}
