// A process that does not take its frames: its senders wait for it, but not for one that has stopped.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/host/fabric_process/plugged_in.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::uint32_t kMoreThanRings = 3 * kRingBytes / kBytes;

std::uint64_t seen(const Served& fabric, std::size_t node, const char* what) {
  return fabric.stat().at("nodes").at(node - 1).at(what);
}

/// Of its frames to `to` as many as may leave now.
std::uint32_t send_what_may_leave(Uplink& from, const Uplink& to, std::uint32_t psn, std::uint32_t end) {
  while (psn != end && commit(*from.link, from.request_to(to, psn, kBytes))) ++psn;
  from.pass(from);
  return psn;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_takes_its_frames_late_gets_them_all) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  std::uint32_t psn = 0;
  // For half a second, and on a machine that is busy for longer, it takes little of what could be sent in that time.
  const Time earliest = clock_now() + milliseconds(500);
  BOOST_TEST(until([&] { return clock_now() >= earliest && seen(fabric, 1, "pauses") != 0u; },
                   [&] {
                     psn = send_what_may_leave(one, two, psn, kMoreThanRings);
                     two.link->service();
                     two.link->receive(clock_now(), two.collector, 16);
                     let_time_pass(milliseconds(10));
                   }));
  BOOST_TEST(psn < kMoreThanRings);
  BOOST_TEST(until([&] { return two.collector.frames.size() == kMoreThanRings; },
                   [&] {
                     psn = send_what_may_leave(one, two, psn, kMoreThanRings);
                     one.pass(two);
                   },
                   std::chrono::minutes(1)));
  BOOST_TEST(in_order(two));
  BOOST_TEST(seen(fabric, 2, "overflowed") == 0u);
  BOOST_TEST(seen(fabric, 2, "pauses") == 0u);
}

BOOST_AUTO_TEST_CASE(other_nodes_go_on_beside_one_that_waits) {
  const Served fabric(fabric::star(3, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  Uplink three(fabric, 3);
  std::uint32_t psn = 0;
  BOOST_REQUIRE(until([&] { return seen(fabric, 1, "pauses") != 0; },
                      [&] { psn = send_what_may_leave(one, two, psn, UINT32_MAX); }));
  BOOST_TEST(three.send(one, 0, 99, 100));
  BOOST_TEST(in_order(one));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_long_for_a_process_that_has_stopped) {
  const Served fabric(fabric::star(3, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  Uplink three(fabric, 3);
  std::uint32_t psn = 0;
  BOOST_REQUIRE(
      until([&] { return psn == kMoreThanRings; }, [&] { psn = send_what_may_leave(one, two, psn, kMoreThanRings); }));
  BOOST_TEST(seen(fabric, 1, "pauses") != 0u);
  BOOST_TEST(one.send(three, 0, 99, 100));
  BOOST_TEST(in_order(three));
}

BOOST_AUTO_TEST_CASE(no_timer_runs_over_what_waits_for_a_process) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  auto& relay = dynamic_cast<Relay&>(*one.link);
  std::uint32_t psn = 0;
  constexpr Duration kLong = milliseconds(20);
  // What the sender has sent has not left, and what others have sent may lie behind such as that. Once must do: the
  // machine may not run this test for as long as a process is waited for.
  const auto is_seen_to_wait = [&] {
    psn = send_what_may_leave(one, two, psn, UINT32_MAX);
    const std::uint64_t published = one.link->published();
    const Time then = clock_now();
    let_time_pass(kLong);
    const bool waits = !one.link->has_sent(published) && relay.delivered_by(clock_now()) < then + milliseconds(10);
    two.link->service();
    two.link->receive(clock_now(), two.collector, 1);  // it is not dead
    return waits;
  };
  BOOST_TEST(until(is_seen_to_wait));
  const std::uint64_t published = one.link->published();
  const Time then = clock_now();
  BOOST_TEST(until([&] { return one.link->has_sent(published) && relay.delivered_by(clock_now()) > then; },
                   [&] { one.pass(two); }));
}

BOOST_AUTO_TEST_CASE(fabric_knows_how_long_a_node_with_frames_was_not_run) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  BOOST_REQUIRE(commit(*one.link, one.request_to(two, 0, kBytes)));
  one.pass(one);
  // Whoever asks wakes the fabric process, which looks then.
  BOOST_TEST(until([&] { return seen(fabric, 2, "not_run_ns") >= 20'000'000; }, [] {}));
  BOOST_TEST(seen(fabric, 1, "not_run_ns") < 20'000'000u);
  one.pass(two);
  BOOST_TEST(until([&] { return two.collector.frames.size() == 1u; }, [&] { one.pass(two); }));
}
