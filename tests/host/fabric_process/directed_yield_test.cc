// Cores yielded to a fabric process that is short of one, and frames left for it without a doorbell.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/host/fabric_process/port_and_uplink.h"
#include "tests/host/fabric_process/served.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;
using verbena::waiting::wait_until;

namespace {

/// A fabric port that is short of a core, and asleep on that of the uplink.
struct Short : Pair {
  Short() {
    ports->yielded_cores().ask(true);
    sleep();
  }
  void sleep() {
    ports->acknowledge_doorbell();
    BOOST_REQUIRE(ports->arm(taker));
    BOOST_REQUIRE(!hub_is_rung());
  }
  bool hub_is_rung() {
    uplink->flush();
    return is_rung(*ports);
  }
};

/// Polls until the core is offered. False: it was not within `limit`.
bool polls_until_it_yields(ShmUplink& uplink, Duration limit = seconds(10)) {
  for (const Time end = clock_now() + limit; clock_now() < end;)
    if (uplink.directed_yield().wants_to_yield()) return true;
  return false;
}
/// However often it polls, the core is not offered.
bool keeps_its_core(ShmUplink& uplink) {
  return !polls_until_it_yields(uplink, milliseconds(20));
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_are_left_unrung_while_the_fabric_process_wants_a_core) {
  Short pair;
  send(*pair.uplink);
  BOOST_TEST(!pair.hub_is_rung());
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);

  pair.ports->yielded_cores().ask(false);
  pair.sleep();
  send(*pair.uplink, 1);
  BOOST_TEST(pair.hub_is_rung());
}

BOOST_AUTO_TEST_CASE(who_polls_in_vain_for_some_time_rings_for_what_it_has_left) {
  Short pair;
  send(*pair.uplink);
  const Time now = clock_now();
  Taker nothing;
  pair.uplink->receive(now, nothing, 64);
  pair.uplink->receive(now + UplinkYield::kLeftMax - nanoseconds(1), nothing, 64);
  BOOST_TEST(!pair.hub_is_rung());
  pair.uplink->receive(now + UplinkYield::kLeftMax, nothing, 64);
  BOOST_TEST(pair.hub_is_rung());
}

BOOST_AUTO_TEST_CASE(nobody_is_rung_for_what_has_been_found) {
  Short pair;
  send(*pair.uplink);
  pair.pass();
  const Time now = clock_now();
  Taker nothing;
  for (int i = 0; i < 3; ++i) pair.uplink->receive(now + UplinkYield::kLeftMax * i, nothing, 64);
  BOOST_TEST(pair.uplink->arm());
  BOOST_TEST(!pair.hub_is_rung());
}

BOOST_AUTO_TEST_CASE(who_goes_to_sleep_rings_for_what_it_has_left) {
  Short pair;
  send(*pair.uplink);
  BOOST_TEST(pair.uplink->arm());
  BOOST_TEST(pair.hub_is_rung());
}

BOOST_AUTO_TEST_CASE(frames_left_for_a_dead_fabric_do_not_ring_the_next_one) {
  Short pair;
  send(*pair.uplink);
  send_back(*pair.ports, 0);
  pair.ports.reset();
  pair.uplink->service();
  BOOST_TEST(taken(*pair.uplink) == 1u);  // who takes frames does not look after what it has left
  pair.ports = require(ShmPorts::open(on_one_core(0).fabric));
  BOOST_REQUIRE(until([&] {
    const bool is_sent = commit(*pair.uplink, {.source = node(1), .destination = node(2), .psn = 1});
    pair.uplink->publish();
    pair.uplink->flush();
    return is_sent;
  }));
  const Time now = clock_now();
  Taker nothing;
  for (int i = 0; i < 3; ++i) pair.uplink->receive(now + UplinkYield::kLeftMax * i, nothing, 64);
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);
}

BOOST_AUTO_TEST_CASE(vain_poller_yields_its_core_to_a_fabric_process_in_need) {
  Short pair;
  BOOST_TEST(!pair.uplink->directed_yield().wants_to_yield());  // one poll is not many
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
  // One whose core is given back before it sleeps does not sleep. A try that the machine interrupted says nothing.
  BOOST_TEST(until([&] {
    BOOST_REQUIRE(polls_until_it_yields(*pair.uplink));
    BOOST_REQUIRE(pair.hub_is_rung());
    BOOST_REQUIRE(pair.ports->yielded_cores().has_any());
    pair.ports->yielded_cores().give_all_back();
    BOOST_REQUIRE(!pair.ports->yielded_cores().has_any());
    const Time before = clock_now();
    pair.uplink->directed_yield().yield_core();
    const bool has_slept = clock_now() - before >= UplinkYield::kYieldMax;
    pair.sleep();
    return !has_slept;
  }));
  BOOST_TEST(polls_until_it_yields(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(core_is_not_yielded_if_unwanted_or_for_a_sleeper_elsewhere) {
  Short pair;
  pair.ports->yielded_cores().ask(false);
  BOOST_TEST(keeps_its_core(*pair.uplink));
  pair.ports->yielded_cores().ask(true);
  if (pair.pinned.leave()) BOOST_TEST(keeps_its_core(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(who_has_frames_to_take_keeps_its_core) {
  Short pair;
  send_back(*pair.ports, 0);
  BOOST_TEST(keeps_its_core(*pair.uplink));
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
  BOOST_TEST(taken(*pair.uplink) == 1u);
  BOOST_TEST(polls_until_it_yields(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(yielded_core_comes_back_with_the_gathered_frames) {
  Short pair;
  BOOST_REQUIRE(polls_until_it_yields(*pair.uplink));
  for (std::uint32_t psn = 0; psn < 3; ++psn) send_back(*pair.ports, psn);
  BOOST_TEST(pair.ports->yielded_cores().has_any());
  BOOST_TEST(pair.ports->holds_doorbells());
  pair.ports->ring_held_doorbells();
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
  BOOST_TEST(!is_rung(*pair.uplink));  // its thread has nothing to do with it
  BOOST_TEST(taken(*pair.uplink) == 3u);
}

BOOST_AUTO_TEST_CASE(another_thread_that_sleeps_meanwhile_is_rung_as_well) {
  Short pair;
  BOOST_REQUIRE(polls_until_it_yields(*pair.uplink));
  BOOST_REQUIRE(pair.uplink->arm());
  send_back(*pair.ports, 0);
  pair.ports->ring_held_doorbells();
  pair.ports->flush();
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
  BOOST_TEST(is_rung(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(who_yields_sleeps_until_its_core_is_given_back) {
  Short pair;
  // A sleep that ends with its limit, on a machine that was busy with something else, says nothing.
  Time given_back{};
  Time back{};
  for (bool has_ended_by_itself = true; has_ended_by_itself; pair.sleep()) {
    BOOST_REQUIRE(polls_until_it_yields(*pair.uplink));
    pair.uplink->flush();
    std::thread yielder([&] {
      pair.uplink->directed_yield().yield_core();
      back = clock_now();
    });
    let_time_pass(milliseconds(1));
    given_back = clock_now();
    has_ended_by_itself = !pair.ports->yielded_cores().has_any();
    pair.ports->yielded_cores().give_all_back();
    yielder.join();
  }
  BOOST_TEST((back >= given_back));
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
}

BOOST_AUTO_TEST_CASE(hub_that_keeps_a_core_is_lent_none_for_some_time) {
  Short pair;
  BOOST_REQUIRE(polls_until_it_yields(*pair.uplink));
  const Time before = clock_now();
  pair.uplink->directed_yield().yield_core();
  BOOST_TEST((clock_now() - before >= UplinkYield::kYieldMax));
  BOOST_TEST(!pair.ports->yielded_cores().has_any());
  BOOST_TEST(keeps_its_core(*pair.uplink));
  BOOST_TEST(polls_until_it_yields(*pair.uplink));
}

BOOST_AUTO_TEST_CASE(a_hub_sees_afterwards_whether_it_was_polled_beside) {
  Short pair;
  BOOST_TEST(!pair.ports->yielded_cores().was_polled_beside());
  pair.uplink->disarm();
  BOOST_TEST(!pair.ports->yielded_cores().was_polled_beside());  // where, the uplink has not said yet
  BOOST_TEST(taken(*pair.uplink) == 0u);
  pair.sleep();
  BOOST_TEST(!pair.ports->yielded_cores().was_polled_beside());
  pair.uplink->disarm();
  BOOST_TEST(pair.ports->yielded_cores().was_polled_beside());
}

namespace {

/// Two processes that poll on the core of their fabric process, in one thread.
struct Node {
  Node(const Served& fabric, std::uint8_t number) : address(node(number)) {
    EngineConfig config;
    config.fabric = fabric.name;
    config.address = address;
    auto opened = ShmUplink::open(config);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    link = std::move(*opened);
  }
  void send_to(const Node& to, std::uint32_t psn) const {
    const wire::Qpn qpn(qpn_base_of(to.link->slot()).value() + 0x11);
    BOOST_REQUIRE(commit(*link, {.source = address, .destination = to.address, .qpn = qpn, .psn = psn}));
    link->publish();
    link->flush();
  }
  void poll() {
    if (polls++ % 64 == 0) link->service();
    link->disarm();
    if (link->receive(clock_now(), collector, 64) != 0) return;
    const bool yields = link->directed_yield().wants_to_yield();
    link->flush();
    if (!yields) return;
    ++yielded;
    link->directed_yield().yield_core();
  }
  wire::Gid address;
  std::unique_ptr<ShmUplink> link;
  Collector collector;
  unsigned polls = 0;
  int yielded = 0;
};

struct OnOneCore {
  OnOneCore() : fabric(fabric::star(2, kFast)), one(fabric, 1), two(fabric, 2) {}
  /// One frame after the other, each waited for, until cores are yielded for them.
  bool exchange_until_lent() {
    std::uint32_t psn = 0;
    for (const Time end = clock_now() + seconds(20); clock_now() < end && one.yielded + two.yielded < 100;) {
      const std::size_t before = two.collector.frames.size();
      one.send_to(two, psn++);
      while (two.collector.frames.size() == before && clock_now() < end) {
        one.poll();
        two.poll();
      }
    }
    sent = psn;
    return one.yielded + two.yielded >= 100 && two.collector.frames.size() == sent;
  }
  OneCore pinned;  // first: the fabric process inherits it
  Served fabric;
  Node one;
  Node two;
  std::size_t sent = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_fabric_process_beside_who_polls_without_end_gets_the_core) {
  OnOneCore nodes;
  BOOST_REQUIRE(nodes.exchange_until_lent());
  for (std::size_t i = 0; i < nodes.sent; ++i) BOOST_REQUIRE(psn_of(nodes.two.collector.frames[i]) == i);
}

BOOST_AUTO_TEST_CASE(frames_left_by_a_node_that_stops_polling_are_found) {
  OnOneCore nodes;
  for (int i = 0; i < 20; ++i) {
    nodes.one.yielded = nodes.two.yielded = 0;
    nodes.two.collector.frames.clear();
    BOOST_REQUIRE(nodes.exchange_until_lent());
    let_time_pass(microseconds(100));  // it sleeps by then, and still wants a core
    nodes.one.send_to(nodes.two, 0x1000);
    // Nobody polls, and the one who waits for it does not yield.
    const std::size_t wanted = nodes.sent + 1;
    const auto arrives = [&] {
      nodes.two.link->receive(clock_now(), nodes.two.collector, 64);
      return nodes.two.collector.frames.size() >= wanted;
    };
    BOOST_REQUIRE(wait_until(arrives, seconds(10), microseconds(100)));
    BOOST_REQUIRE(nodes.two.collector.frames.size() == wanted);
  }
}

BOOST_AUTO_TEST_CASE(core_yielded_to_an_ending_fabric_process_comes_back) {
  OnOneCore nodes;
  BOOST_REQUIRE(nodes.exchange_until_lent());
  nodes.fabric.end();
  // It waits for its core once at most, which is its longest sleep, and then has nobody to yield it to.
  nodes.one.yielded = 0;
  const Time end = clock_now() + milliseconds(50);
  while (clock_now() < end) nodes.one.poll();
  BOOST_TEST(nodes.one.yielded <= 1);
  BOOST_TEST(!nodes.one.link->has_signal());
}
