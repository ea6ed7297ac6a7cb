// When a peer that has not said that it sleeps is rung: single stories, and every order of what it may do.
#include "emulator/host/link/shm/peer_waker.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>

using namespace verbena;
using namespace verbena::host;
using Found = PeerWaker::Found;

namespace {

/// A peer with one frame after the other to take, its waker, and a clock that goes on to each look.
struct Story {
  bool publish(bool rung = false) {
    published += 64;
    return waker.published(rung, [this] { return sleeps_on_our_cpu; });
  }
  void take(std::uint64_t octets = UINT64_MAX) {
    taken = std::min(published, octets == UINT64_MAX ? published : taken + octets);
  }
  Found look() {
    if (!waker.is_due(now)) {
      now = waker.due(now);
      BOOST_REQUIRE(waker.is_due(now));
    }
    return waker.look(now, {.tail = taken, .has_taken_all = taken == published, .polls = polls},
                      [this] { return sleeps_on_our_cpu; });
  }
  /// The time until the next look.
  Duration patience() { return waker.due(now) - now; }

  PeerWaker waker;
  Time now{1'000'000};
  std::uint64_t published = 0;
  std::uint64_t taken = 0;
  std::uint64_t polls = 0;
  bool sleeps_on_our_cpu = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(prompt_peer_is_watched_no_more_and_gets_more_time) {
  Story story;
  Duration before{};
  for (int i = 0; i < 8; ++i) {
    BOOST_TEST(story.publish());
    BOOST_TEST(!story.publish());  // it is watched already
    const Duration patience = story.patience();
    BOOST_TEST((patience >= before && patience <= PeerWaker::kPatienceMax));
    before = patience;
    story.take();
    BOOST_TEST((story.look() == Found::has_taken_all));
    BOOST_TEST(!story.waker.is_watched());
  }
  BOOST_TEST((before == PeerWaker::kPatienceMax));
}

BOOST_AUTO_TEST_CASE(first_look_comes_patience_after_the_question) {
  Story story;
  story.publish();
  BOOST_TEST(!story.waker.is_due(story.now));
  BOOST_TEST(!story.waker.is_due(story.now + PeerWaker::kPatienceMin - nanoseconds(1)));
  BOOST_TEST(story.waker.is_due(story.now + PeerWaker::kPatienceMin));
}

BOOST_AUTO_TEST_CASE(who_polls_or_takes_some_is_not_rung_and_who_does_neither_is) {
  Story story;
  story.publish();
  story.publish();
  story.publish();
  ++story.polls;
  BOOST_TEST((story.look() == Found::moves));
  story.take(64);
  BOOST_TEST((story.look() == Found::moves));
  BOOST_TEST((story.look() == Found::stuck));
  BOOST_TEST((story.patience() == PeerWaker::kBackoffMin));
}

BOOST_AUTO_TEST_CASE(stuck_peer_is_rung_at_growing_intervals_until_it_moves) {
  Story story;
  story.publish();
  story.publish();
  BOOST_TEST((story.look() == Found::stuck));
  Duration before = PeerWaker::kBackoffMin;
  for (int i = 0; i < 10; ++i) {
    BOOST_TEST((story.look() == Found::stuck));
    BOOST_TEST((story.patience() == std::min(before * 2, PeerWaker::kBackoffMax)));
    before = story.patience();
  }
  story.take(64);
  BOOST_TEST((story.look() == Found::moves));
  BOOST_TEST((story.patience() == PeerWaker::kPatienceMax));
  BOOST_TEST((story.look() == Found::stuck));
  BOOST_TEST((story.patience() == PeerWaker::kBackoffMin));
}

BOOST_AUTO_TEST_CASE(polls_of_a_rung_peer_do_not_count_for_its_thread) {
  Story story;
  story.publish(true);
  BOOST_TEST((story.patience() == PeerWaker::kBackoffMin));
  ++story.polls;
  BOOST_TEST((story.look() == Found::stuck));
  BOOST_TEST((story.patience() == PeerWaker::kBackoffMin * 2));  // the bell for what was published was the first one
  story.publish(false);                                          // it polls again, and was not rung for this
  ++story.polls;
  BOOST_TEST((story.look() == Found::moves));
  story.waker.was_rung();  // later, for what was published
  ++story.polls;
  BOOST_TEST((story.look() == Found::stuck));
}

BOOST_AUTO_TEST_CASE(sleeper_on_our_core_is_looked_at_soon_and_gets_it_if_stuck) {
  for (const bool rung : {false, true}) {
    Story story;
    story.sleeps_on_our_cpu = true;
    story.publish(rung);
    story.publish(rung);
    BOOST_TEST((story.patience() == PeerWaker::kPatienceMin));
    BOOST_TEST((story.look() == Found::stuck_on_our_cpu));
    BOOST_TEST((story.patience() == PeerWaker::kPatienceMin * 2));
    story.take(64);
    BOOST_TEST((story.look() == Found::moves));
    story.sleeps_on_our_cpu = false;  // elsewhere from now on: what it was given before counts no more
    BOOST_TEST((story.look() == Found::stuck));
    BOOST_TEST((story.patience() == PeerWaker::kBackoffMin));
  }
}

BOOST_AUTO_TEST_CASE(who_was_awake_for_long_and_is_rung_now_gets_the_time_to_wake) {
  Story story;
  story.publish();
  story.take();
  BOOST_TEST((story.look() == Found::has_taken_all));
  story.publish(true);
  BOOST_TEST((story.patience() == PeerWaker::kBackoffMin));
}

namespace {

/// Does one of these before each look.
enum Deed : std::size_t { nothing, polls, takes_one, takes_all, publishes, publishes_and_rings, kDeeds };

struct Judge {
  void check(Story story, int deeds_left, int idle_looks) {
    ++orders;
    if (deeds_left == 0 || !story.waker.is_watched()) return;
    for (std::size_t deed = 0; deed < kDeeds; ++deed)
      for (const bool behind : {false, true}) {
        Story next = story;
        next.sleeps_on_our_cpu = behind;
        const bool moved = act(next, static_cast<Deed>(deed));
        judge(next, deeds_left, moved ? 0 : idle_looks + 1);
      }
  }
  static bool act(Story& story, Deed deed) {
    switch (deed) {
      case nothing:
        return false;
      case polls:
        ++story.polls;
        return !story.waker.is_rung();
      case takes_one:
        story.take(64);
        return true;
      case takes_all:
        story.take();
        return true;
      case publishes:
        story.publish(false);
        return false;
      case publishes_and_rings:
        story.publish(true);
        return false;
      case kDeeds:
        break;
    }
    return false;
  }
  void judge(Story next, int deeds_left, int idle_looks) {
    const bool had_all = next.taken == next.published;
    const Time before = next.now;
    const Found found = next.look();
    // No look is further away than the longest interval, so that frames never wait for longer without a bell.
    if (next.now - before > PeerWaker::kBackoffMax || next.patience() > PeerWaker::kBackoffMax) ++too_late;
    if (had_all != (found == Found::has_taken_all) || had_all == next.waker.is_watched()) ++wrong;
    const bool is_stuck = found == Found::stuck || found == Found::stuck_on_our_cpu;
    if (!had_all && is_stuck != (idle_looks > 0)) ++wrong;
    if (is_stuck && (found == Found::stuck_on_our_cpu) != next.sleeps_on_our_cpu) ++wrong;
    if (next.waker.is_watched() && next.patience() < PeerWaker::kPatienceMin) ++wrong;
    check(next, deeds_left - 1, idle_looks);
  }
  std::size_t orders = 0;
  std::size_t wrong = 0;
  std::size_t too_late = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(in_every_order_who_stands_still_is_rung_and_who_moves_is_not) {
  Judge judge;
  Story story;
  story.publish();
  story.publish();
  story.polls = 1;  // it has polled once: at the first look that is news
  story.look();
  judge.check(story, 5, 0);
  BOOST_TEST(judge.orders > 100'000u);
  BOOST_TEST(judge.wrong == 0u);
  BOOST_TEST(judge.too_late == 0u);
}
