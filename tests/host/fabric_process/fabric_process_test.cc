// The fabric process: frames between plugs through switches, its commands, and what is left when somebody goes.
#include "emulator/host/fabric_process/fabric_process.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "emulator/host/fabric_process/element_words.h"
#include "tests/host/fabric_process/plugged_in.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

constexpr std::chrono::milliseconds kShort{200};

}  // namespace

BOOST_AUTO_TEST_CASE(frames_cross_a_star_whole_and_in_order) {
  const Served fabric(fabric::star(3, {}));
  Uplink one(fabric, 1);
  Uplink three(fabric, 3);
  BOOST_TEST(one.send(three, 0, 999, 1000));
  BOOST_TEST(in_order(three));
  BOOST_TEST(fabric.frames_on("n1->s1") == 1000u);
  BOOST_TEST(fabric.frames_on("s1->n3") == 1000u);
  BOOST_TEST(fabric.frames_on("s1->n2") == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_reaches_itself_and_the_other_processes_of_its_node) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  Uplink sibling(fabric, 1);
  BOOST_TEST(sibling.slot == 1);
  BOOST_TEST(one.send(one, 0, 9, 10));
  BOOST_TEST(one.send(sibling, 0, 9, 10));
  BOOST_TEST(in_order(one));
  BOOST_TEST(in_order(sibling));
}

BOOST_AUTO_TEST_CASE(a_link_of_a_ring_that_goes_down_is_led_around) {
  const Served fabric(fabric::ring(4, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  BOOST_TEST(one.send(two, 0, 9, 10));
  BOOST_TEST(fabric.frames_on("s1->s2") == 10u);
  BOOST_TEST(fabric.ask({"link-down", "s1-s2"}) == "");
  fabric.let_routes_follow();
  BOOST_TEST(one.send(two, 10, 19, 20));
  BOOST_TEST(in_order(two));
  BOOST_TEST(fabric.frames_on("s4->s3") == 10u);
}

BOOST_AUTO_TEST_CASE(dead_elements_and_partitions_swallow_frames_until_mended) {
  const Served fabric(fabric::star(3, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  std::uint32_t psn = 0;
  std::size_t arrived = 0;
  const std::vector<std::pair<FabricWords, FabricWords>> pairs = {
      {{"link-down", "n1-s1"}, {"link-up", "n1-s1"}},
      {{"link-down", "s1->n2"}, {"link-up", "s1->n2"}},
      {{"switch-crash", "s1"}, {"switch-restart", "s1"}},
      {{"partition", "n1", "n2,n3", "one-way"}, {"heal"}},
  };
  for (const auto& [wound, mend] : pairs) {
    BOOST_TEST_CONTEXT(wound[0] + " " + wound[1]) {
      BOOST_TEST(fabric.ask(wound) == "");
      BOOST_TEST(!one.send(two, psn, psn, arrived + 1, kShort));
      BOOST_TEST(fabric.ask(mend) == "");
      fabric.let_routes_follow();
      BOOST_TEST(one.send(two, psn + 1, psn + 1, arrived + 1));
      psn += 2;
      ++arrived;
    }
  }
}

BOOST_AUTO_TEST_CASE(rules_are_added_counted_and_removed_while_frames_flow) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  BOOST_TEST(fabric.ask({"add", "n1->s1", "drop", "every=2"}) == "1");
  BOOST_TEST(fabric.ask({"add", "n2-s1", "drop 0%"}) == "2");
  BOOST_TEST(one.send(two, 0, 99, 50));
  BOOST_TEST(fabric.stat().at("faults").at(0).at("hits") == 50);
  BOOST_TEST(fabric.ask({"add", "n1-s1", "drop 0%"}) == "3");  // the count of the others goes on
  BOOST_TEST(fabric.stat().at("faults").at(0).at("hits") == 50);
  BOOST_TEST(fabric.ask({"list"}).find("1  n1->s1  drop every=2  (50 hits)\n2  n2-s1  drop 0%") == 0u);
  BOOST_TEST(fabric.ask({"remove", "1"}) == "50");
  BOOST_TEST(one.send(two, 100, 109, 60));
  BOOST_TEST(fabric.ask({"clear"}) == "");
  BOOST_TEST(fabric.ask({"list"}) == "");
}

BOOST_AUTO_TEST_CASE(a_delay_is_kept_on_the_real_clock) {
  const Served fabric(fabric::star(2, kFast));
  BOOST_TEST(fabric.ask({"link-delay", "n1->s1", "20ms"}) == "");
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  const Time before = clock_now();
  BOOST_TEST(one.send(two, 0, 0, 1));
  BOOST_TEST((clock_now() - before).ns >= milliseconds(20).ns);
}

BOOST_AUTO_TEST_CASE(a_rate_is_kept_on_the_real_clock_without_loss) {
  const Served fabric(fabric::star(2, kFast));
  BOOST_TEST(fabric.ask({"link-rate", "n1->s1", "100Mbps"}) == "");
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  const Time before = clock_now();
  BOOST_TEST(one.send(two, 0, 2999, 3000));
  const auto octets = static_cast<std::int64_t>(3000 * build(one.request_to(two, 0)).size());
  BOOST_TEST((clock_now() - before).ns >= octets * 80 * 9 / 10);  // 80 ns an octet
  BOOST_TEST(in_order(two));
}

BOOST_AUTO_TEST_CASE(a_groups_frame_reaches_every_process_but_its_own_once) {
  const Served fabric(fabric::ring(3, kFast));
  Uplink one(fabric, 1);
  Uplink beside(fabric, 1);
  Uplink two(fabric, 2);
  Uplink sibling(fabric, 2);
  Uplink three(fabric, 3);
  const FrameRequest request{.source = one.address,
                             .destination = wire::Gid::from_ipv4(0xe0010203),
                             .qpn = wire::kMulticastQpn,
                             .payload_bytes = 10};
  BOOST_TEST(commit(*one.link, request));
  const auto pass = [&] {
    for (Uplink* uplink : {&beside, &two, &sibling, &three}) one.pass(*uplink);
  };
  const auto all_have = [&] {
    return !beside.collector.frames.empty() && !two.collector.frames.empty() && !sibling.collector.frames.empty() &&
           !three.collector.frames.empty();
  };
  BOOST_TEST(until(all_have, pass));
  BOOST_TEST(!until([] { return false; }, pass, kShort));  // nothing else comes
  for (const Uplink* uplink : {&beside, &two, &sibling, &three}) BOOST_TEST(uplink->collector.frames.size() == 1u);
  BOOST_TEST(one.collector.frames.empty());
}

BOOST_AUTO_TEST_CASE(frames_wait_at_their_sender_while_its_port_has_no_room) {
  const Served fabric(fabric::star(2, kFast));
  BOOST_TEST(fabric.ask({"link-rate", "n1->s1", "10Mbps"}) == "");
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  std::uint32_t psn = 0;
  while (psn < 1000 && commit(*one.link, one.request_to(two, psn, 1024))) ++psn;
  BOOST_TEST((psn > 100 && psn < 1000));  // its own ring is full
  BOOST_TEST(one.send(two, psn, psn + 9, psn + 10));
  BOOST_TEST(in_order(two));
  const Json all = fabric.stat();
  for (const Json& link : all.at("links")) {
    BOOST_TEST(link.at("overflowed") == 0u);
    BOOST_TEST(link.at("queue_octets_max") <= 5 * wire::kFrameBytesMax);
  }
}

BOOST_AUTO_TEST_CASE(fabric_sleeps_soon_after_the_last_frame_even_if_some_wait) {
  const Served fabric(fabric::star(2, {}));
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  BOOST_TEST(one.send(two, 0, 99, 100));
  commit(*one.link, one.request_to(two, 100));
  one.link->publish();
  one.link->flush();
  let_time_pass(milliseconds(50));
  const Duration before = fabric.cpu_time();
  let_time_pass(milliseconds(300));
  BOOST_TEST((fabric.cpu_time() - before).ns < milliseconds(15).ns);
  BOOST_TEST(one.send(two, 101, 109, 110));
}

BOOST_AUTO_TEST_CASE(frames_for_nobody_vanish_and_are_counted) {
  const Served fabric(fabric::star(2, kFast));
  Uplink one(fabric, 1);
  {
    Uplink two(fabric, 2);
    BOOST_TEST(one.send(two, 0, 0, 1));
  }
  FrameRequest request{.source = one.address, .destination = node(2), .qpn = wire::Qpn(0x11), .payload_bytes = 10};
  BOOST_TEST(until([&] { return fabric.stat().at("nodes").at(1).at("nobody") >= 1; },
                   [&] {
                     commit(*one.link, request);
                     one.pass(one);
                   }));
  request.destination = node(77);  // no node of this fabric
  BOOST_TEST(commit(*one.link, request));
  one.pass(one);
  Uplink again(fabric, 2);
  BOOST_TEST(one.send(again, 0, 0, 1));
}

BOOST_AUTO_TEST_CASE(a_fabric_has_one_process_and_a_plug_needs_it) {
  Served fabric(fabric::star(2, kFast));
  FabricOptions second;
  second.fabric = fabric.name;
  second.topology = fabric::star(2, kFast);
  const auto refused = FabricProcess::open(second);
  BOOST_TEST(
      (!refused && refused.error().starts_with("fabric '" + fabric.name + "' is served by another process already")));

  Uplink one(fabric, 1);
  fabric.end();
  EngineConfig config;
  config.fabric = fabric.name;
  const auto opened = open_fabric_link(config);
  BOOST_TEST((!opened && opened.error() == "no fabric process serves fabric '" + fabric.name + "'"));
  const auto answer = ask_fabric(fabric.name, AskSnapshot{});
  BOOST_TEST((!answer && !answer.error().served));
  // A dead network: what is sent vanishes, and never blocks for long.
  FrameRequest request{.source = one.address, .destination = node(2), .qpn = wire::Qpn(0x11), .payload_bytes = 4096};
  for (int i = 0; i < 2000; ++i)
    BOOST_REQUIRE(until([&] { return commit(*one.link, request); }, [&] { one.pass(one); }));
}

BOOST_AUTO_TEST_CASE(too_many_nodes_are_refused) {
  FabricOptions options;
  options.fabric = unique_name();
  options.topology = fabric::star(255, kFast);
  const auto refused = FabricProcess::open(options);
  BOOST_TEST((!refused && refused.error() == "a fabric of processes has at most 254 nodes, not 255"));
}

BOOST_AUTO_TEST_CASE(rates_and_times_are_read_with_their_units) {
  BOOST_TEST((parse_rate("2.5Gbps") == 2'500'000'000u));
  BOOST_TEST((parse_rate("100Mbps") == 100'000'000u));
  BOOST_TEST((parse_rate("0") == 0u));
  for (const char* const wrong : {"", "10", "fast", "-1Gbps", "1e3Gbps", "Gbps", "999999999Gbps"})
    BOOST_TEST(!parse_rate(wrong), wrong);
  BOOST_TEST((parse_time_span("1.5us") == nanoseconds(1500)));
  BOOST_TEST((parse_time_span("60s") == seconds(60)));
  for (const char* const wrong : {"", "5", "61s", "-1ms", "ms", "1 ms"}) BOOST_TEST(!parse_time_span(wrong), wrong);
}
