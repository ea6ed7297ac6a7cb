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
constexpr bool kMemory = false;
constexpr bool kSockets = true;

std::uint32_t polls_until_due(PollYield& yield) {
  std::uint32_t polls = 1;
  while (!yield.is_due()) ++polls;
  return polls;
}
}  // namespace

BOOST_AUTO_TEST_CASE(core_sharing_is_asked_after_a_long_wait_and_soon_once_found) {
  PollYield yield;
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsBeside);
  yield.of(Neighbour::nobody, kOwnCore, kMemory, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  // An answer from another core has a while to come on a shared one as well.
  yield.of(Neighbour::nobody, kSharedCore, kMemory, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsAlone);
  yield.of(Neighbour::nobody, kSharedCore, kSockets, kStart);
  BOOST_TEST(polls_until_due(yield) == PollYield::kPollsOfKernel);
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
  BOOST_TEST((yield.of(Neighbour::nobody, kOwnCore, kMemory, kStart) == Kind::none));
}

BOOST_AUTO_TEST_CASE(core_that_others_use_is_left_to_them_again_and_again) {
  PollYield yield;
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST((yield.of(Neighbour::nobody, kSharedCore, kMemory, kStart) == Kind::shared_core));
    yield.ran_out(Kind::shared_core, kStart);
  }
}

BOOST_AUTO_TEST_CASE(peer_with_our_frames_or_at_rest_gets_the_core_for_long) {
  for (const Neighbour neighbour : {Neighbour::has_our_frames, Neighbour::rests}) {
    PollYield yield;
    for (int i = 0; i < 10'000; ++i) BOOST_TEST((yield.of(neighbour, kOwnCore, kMemory, kStart) == Kind::sure));
    BOOST_TEST((PollYield::longest(Kind::sure) > PollYield::longest(Kind::tentative)));
    BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, kStart) == Kind::tentative));
  }
}

BOOST_AUTO_TEST_CASE(rest_in_vain_for_a_merely_awake_peer_is_followed_by_a_pause) {
  PollYield yield;
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, kStart) == Kind::tentative));
  const Time back = kStart + PollYield::kUnsure;
  yield.ran_out(Kind::tentative, back);
  const Time again = back + PollYield::kUnsure * PollYield::kPausesAfter;
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, back) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, again - Duration{1}) == Kind::none));
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, back) == Kind::sure));
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, again) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(rest_after_which_something_is_found_was_worth_it) {
  PollYield yield;
  yield.ran_out(Kind::tentative, kStart);
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, kStart) == Kind::none));
  yield.found();
  BOOST_TEST((yield.of(Neighbour::awake, kOwnCore, kMemory, kStart) == Kind::tentative));
}

BOOST_AUTO_TEST_CASE(absent_peer_soon_counts_as_any_other_until_a_find) {
  PollYield yield;
  for (std::uint32_t i = 0; i < PollYield::kSureRests; ++i) {
    BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, kStart) == Kind::sure));
    yield.ran_out(Kind::sure, kStart);
  }
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, kStart) == Kind::tentative));
  yield.ran_out(Kind::tentative, kStart);
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, kStart) == Kind::none));
  yield.found();
  BOOST_TEST((yield.of(Neighbour::has_our_frames, kOwnCore, kMemory, kStart) == Kind::sure));
}

// -- CoreShare --------------------------------------------------------------------------------------------------------

namespace {
/// A thread that spins, and others on its core.
struct Core {
  CoreShare share;
  CoreShare::Others others = CoreShare::Others::time_slice;
  Time at = kStart;
  Duration cpu{};

  bool spin(Duration length, Duration others_run) {
    at = at + length + others_run;
    cpu = cpu + length;
    return share.look({.at = at, .cpu = cpu}, others);
  }
};
}  // namespace

BOOST_AUTO_TEST_CASE(core_is_shared_once_others_have_had_a_time_slice) {
  Core core;
  for (int i = 0; i < 1000; ++i) BOOST_TEST(!core.spin(microseconds(50), microseconds(2)));  // interrupts and the like
  BOOST_TEST(core.spin(microseconds(50), milliseconds(3)));
  const Time believed_until = core.at + CoreShare::kBelievedFor;
  while (core.at + microseconds(50) < believed_until) BOOST_TEST(core.spin(microseconds(50), Duration{}));
  BOOST_TEST(!core.spin(microseconds(50), Duration{}));
}

BOOST_AUTO_TEST_CASE(beside_a_relay_one_time_slice_of_others_is_nothing) {
  Core core;
  core.others = CoreShare::Others::several_time_slices;
  core.spin(microseconds(50), Duration{});
  BOOST_TEST(!core.spin(milliseconds(1), milliseconds(3)));
  BOOST_TEST(core.spin(milliseconds(1), milliseconds(12)));
}

BOOST_AUTO_TEST_CASE(processor_time_of_another_thread_says_nothing) {
  CoreShare share;
  Time at = kStart;
  for (int turn = 0; turn < 100; ++turn) {
    at = at + milliseconds(2);
    const std::uint64_t thread = turn % 2 + 1;
    const Duration cpu = thread == 1 ? seconds(100) : Duration{};
    BOOST_TEST(!share.look({.at = at, .cpu = cpu, .thread = thread}, CoreShare::Others::time_slice));
  }
}

BOOST_AUTO_TEST_CASE(time_slept_is_nobody_elses) {
  Core core;
  core.spin(Duration{}, Duration{});
  core.share.restart();
  BOOST_TEST(!core.spin(Duration{}, seconds(1)));
  BOOST_TEST(!core.spin(milliseconds(2), Duration{}));
}
