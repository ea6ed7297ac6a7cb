// A process that shares its core with the fabric process: who stands in whose way, and whose core is taken for good.
#include <sched.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_cable.h"
#include "tests/host/fabric_process/port_and_uplink.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

BOOST_AUTO_TEST_CASE(waiter_on_its_answerers_core_is_in_the_way_until_a_look) {
  Pair pair;
  BOOST_TEST(!pair.uplink->blocks_peer_cpu());
  BOOST_TEST(pair.uplink->shares_core());
  send(*pair.uplink);
  BOOST_TEST(pair.uplink->blocks_peer_cpu());
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);
  BOOST_TEST(!pair.uplink->blocks_peer_cpu());
}

BOOST_AUTO_TEST_CASE(a_peer_on_another_core_is_in_nobodys_way) {
  Pair pair;
  if (!pair.pinned.leave()) return;
  send(*pair.uplink);
  BOOST_TEST(!pair.uplink->blocks_peer_cpu());
  BOOST_TEST(!pair.uplink->shares_core());
}

BOOST_AUTO_TEST_CASE(on_a_cable_nobody_asks_for_cores) {
  const OneCore pinned;
  const auto one = require(ShmCable::open(on_one_core(1)));
  const FrameRequest to_itself{.source = node(1), .destination = node(1), .qpn = wire::Qpn(0x11), .payload_bytes = 10};
  BOOST_REQUIRE(commit(*one, to_itself));
  one->publish();
  BOOST_TEST(!one->blocks_peer_cpu());
}

BOOST_AUTO_TEST_CASE(a_turn_is_over_with_the_frame_that_reaches_its_octets) {
  Pair pair;
  for (std::uint32_t psn = 0; psn < 10; ++psn) send(*pair.uplink, psn);
  pair.taker.admitted = 0;
  pair.pass();
  BOOST_TEST(pair.taker.octets.empty());
  pair.taker.admitted = 1;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);
  pair.taker.admitted = pair.taker.octets.front() + 1;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 3u);
  pair.taker.admitted = SIZE_MAX;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 10u);
}

BOOST_AUTO_TEST_CASE(plug_needs_no_timer_over_frames_not_yet_taken) {
  Pair pair;
  send(*pair.uplink);
  Taker nothing;
  pair.uplink->receive(clock_now(), nothing, 1);
  BOOST_TEST(!pair.uplink->next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(sleeper_on_the_hubs_core_is_rung_once_for_all_its_frames) {
  Pair pair;
  pair.uplink->sleeps_on_cpu();
  BOOST_REQUIRE(pair.uplink->arm());
  for (std::uint32_t psn = 0; psn < 3; ++psn) send_back(*pair.ports, psn);
  BOOST_TEST(pair.ports->holds_doorbells());
  BOOST_TEST(!is_rung(*pair.uplink));
  // Neither is it looked after as one who does not move.
  const Time late = clock_now() + seconds(1);
  for (int i = 0; i < 3; ++i) pair.ports->receive(late + milliseconds(i), pair.taker, 64);
  pair.ports->flush();
  BOOST_TEST(!is_rung(*pair.uplink));

  pair.ports->ring_held_doorbells();
  pair.ports->flush();
  BOOST_TEST(is_rung(*pair.uplink));
  BOOST_TEST(!pair.ports->holds_doorbells());
  BOOST_TEST(pair.ports->statistics().wakes == 1u);
  BOOST_TEST(pair.ports->statistics().kicks == 0u);
  BOOST_TEST(taken(*pair.uplink) == 3u);
}

BOOST_AUTO_TEST_CASE(who_has_taken_what_was_gathered_is_not_rung) {
  Pair pair;
  pair.uplink->sleeps_on_cpu();
  BOOST_REQUIRE(pair.uplink->arm());
  send_back(*pair.ports, 0);
  BOOST_TEST(taken(*pair.uplink) == 1u);
  pair.ports->ring_held_doorbells();
  pair.ports->flush();
  BOOST_TEST(!is_rung(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(who_sleeps_on_another_core_is_rung_at_once) {
  Pair pair;
  pair.uplink->sleeps_on_cpu();
  BOOST_REQUIRE(pair.uplink->arm());
  if (!pair.pinned.leave()) return;
  send_back(*pair.ports, 0);
  BOOST_TEST(!pair.ports->holds_doorbells());
  BOOST_TEST(is_rung(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(a_process_whose_peer_is_gone_holds_no_bell_for_it) {
  Pair pair;
  pair.uplink->sleeps_on_cpu();
  BOOST_REQUIRE(pair.uplink->arm());
  send_back(*pair.ports, 0);
  BOOST_REQUIRE(pair.ports->holds_doorbells());
  pair.uplink.reset();
  const Time end = clock_now() + seconds(10);
  while (pair.ports->holds_doorbells() && clock_now() < end) pair.pass();
  BOOST_TEST(!pair.ports->holds_doorbells());
}

namespace {
/// When the fabric process is taken to be a dead network, by looks that are a millisecond apart from `first` on.
Time stands_still_from(Pair& pair, Time first) {
  Time now = first;
  while (pair.uplink->delivered_by(now) != now && now < first + kRelayPatience * 2) now = now + milliseconds(1);
  return now;
}
}  // namespace

BOOST_AUTO_TEST_CASE(plug_is_not_given_up_over_a_time_in_which_nobody_looked) {
  Pair pair;
  const Time begin = clock_now();
  pair.ports->has_looked(begin);
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(1)) == begin);
  // The machine stood still, with both.
  const Time later = begin + kRelayPatience * 10;
  BOOST_CHECK(pair.uplink->delivered_by(later) == begin);
  pair.ports->has_looked(later);
  BOOST_CHECK(pair.uplink->delivered_by(later + milliseconds(1)) == later);
  BOOST_CHECK(stands_still_from(pair, later + milliseconds(1)) == later + milliseconds(1) + kRelayPatience);
}

BOOST_AUTO_TEST_CASE(plug_knows_up_to_when_its_frames_were_handed_on) {
  Pair pair;
  const Time begin = clock_now();
  BOOST_CHECK(pair.uplink->delivered_by(begin) == begin);  // it has not said anything yet
  pair.ports->has_looked(begin);
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(1)) == begin);
  BOOST_CHECK(pair.uplink->delivered_by(begin - milliseconds(1)) == begin - milliseconds(1));
  // It stands still: a dead network.
  BOOST_CHECK(stands_still_from(pair, begin + milliseconds(2)) == begin + milliseconds(2) + kRelayPatience);

  // While it sleeps, and nobody has rung, nothing is on its way until what is due next.
  BOOST_REQUIRE(pair.ports->arm(pair.taker));
  pair.ports->rests(begin + milliseconds(3));
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(2)) == begin + milliseconds(2));
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(4)) == begin + milliseconds(3));
  send(*pair.uplink);
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(2)) == begin);
  pair.ports->disarm();
  BOOST_REQUIRE(!pair.ports->arm(pair.taker));
  BOOST_CHECK(pair.uplink->delivered_by(begin + milliseconds(2)) == begin);
}
