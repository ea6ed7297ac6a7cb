// Ports with virtual lanes and credits, as InfiniBand's: nothing is lost, a lane waits alone, and what the wire, a dead
// link or a dead switch takes away comes back.
#include "emulator/fabric/network_credits.h"

#include "emulator/fabric/network_control.h"
#include "tests/fabric/load_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

constexpr std::uint64_t kFrameBytes = kPayload + 58;
constexpr std::uint64_t kFrameBlocks = credit_blocks(kFrameBytes);

Qos lanes(std::uint32_t buffer_bytes = 32 << 10) {
  Qos qos;
  qos.flow_control = FlowControl::credits;
  qos.lossless = kEveryClass;
  qos.lane_buffer_bytes = buffer_bytes;
  return qos;
}

ShapeParameters far(Duration propagation) {
  ShapeParameters shape = slow();
  shape.host_cable.propagation = shape.trunk.propagation = propagation;
  return shape;
}

}  // namespace

BOOST_AUTO_TEST_CASE(three_senders_into_one_port_wait_and_nothing_is_lost) {
  constexpr std::uint32_t kBuffer = 16 << 10;
  Net net(with(star(4, slow()), lanes(kBuffer)));
  Load load(net, {{0, 3}, {1, 3}, {2, 3}});
  load.run(20'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(net.network.statistics().overflowed == 0u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(net.network.statistics().flow_control_packets > 100u);
  // The port is never idle, and its three senders have a third each.
  BOOST_TEST(static_cast<double>(load.sent) > 0.98 * 20'000'000 / kFrameNs);
  for (const auto& [from, frames] : load.sent_by) BOOST_TEST(frames > 0.9 * load.sent / 3);
  // No more waits at the switch than its three lanes' buffers hold.
  BOOST_TEST(statistics(net, {3, true}).queue_octets_max > 2 * kBuffer);
  BOOST_TEST(statistics(net, {3, true}).queue_octets_max <= 3 * kBuffer + kFrameBytes);
}

BOOST_AUTO_TEST_CASE(small_buffer_far_away_limits_the_rate_to_itself_a_round_trip) {
  constexpr std::uint32_t kBuffer = 8 << 10;
  Net net(with(star(2, far(microseconds(500))), lanes(kBuffer)));
  Load load(net, {{0, 1}});
  load.run(100'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  // Seven packets of 17 blocks fit into 128; the room that the first ones leave is told of before the last have come.
  const double round_trip = 2 * 500'000 + 2.0 * kFrameNs;
  const double expected = 100'000'000 / round_trip * 7;
  BOOST_TEST(static_cast<double>(load.sent) < 1.1 * expected);
  BOOST_TEST(static_cast<double>(load.sent) > 0.8 * expected);
  BOOST_TEST(kFrameBlocks == 17u);
}

BOOST_AUTO_TEST_CASE(room_of_packets_that_the_wire_has_lost_comes_back) {
  Net net(with(star(2, slow()), lanes(8 << 10)));
  net.set_faults({0, false}, {"drop 5%"});
  Load load(net, {{0, 1}});
  load.run(20'000'000);
  net.run();
  const std::uint64_t lost = net.network.statistics().lost;
  BOOST_TEST(lost > 50u);
  BOOST_TEST(packets(net) + lost == load.sent);
  BOOST_TEST(static_cast<double>(load.sent) > 0.95 * 20'000'000 / kFrameNs);
}

BOOST_AUTO_TEST_CASE(a_lane_without_credit_does_not_keep_another_one_back) {
  Net net(with(star(3, slow()), lanes()));
  net.control.set_pause_storm(Time{0}, 2, bit_of(3));
  Load load(net, {{0, 2}});
  load.run(5'000'000);
  BOOST_TEST_REQUIRE((net.network.pause_statistics(Time{5'000'000}, {0, false}).paused_now & bit_of(3)) != 0);
  // As much as two lanes' buffers has gone: the switch's and the host's.
  BOOST_TEST(packets(net) == (32u << 10) / 64 / kFrameBlocks);
  net.got.clear();
  net.network.submit(Time{5'000'000}, 0, Net::frame(0, 2, 77'777, 0, 0));
  net.run(5'030'000);
  BOOST_TEST(net.psns() == (Psns{77'777}));
  // The host takes again, and what has waited comes.
  net.control.set_pause_storm(Time{5'030'000}, 2, 0);
  net.run();
  BOOST_TEST(net.network.statistics().overflowed + net.network.statistics().lost == 0u);
  BOOST_TEST(packets(net) == load.sent + 1 - (32u << 10) / 64 / kFrameBlocks);
}

BOOST_AUTO_TEST_CASE(ring_of_lanes_without_credit_is_found_and_named) {
  constexpr std::uint32_t kHosts = 5;
  ShapeParameters shape = slow();
  shape.host_cable.rate_bits_per_second = 4'000'000'000;
  const Topology round = ring(kHosts, shape);
  Net net(with(round, lanes(8 << 10)));
  Load load(net, {{0, 2}, {1, 3}, {2, 4}, {3, 0}, {4, 1}});
  load.run(60'000'000);
  const auto deadlock = net.network.pause_deadlock();
  BOOST_TEST_REQUIRE(deadlock.has_value());
  BOOST_TEST(int{deadlock->traffic_class} == 3);
  BOOST_TEST(deadlock->links.size() == kHosts);
  net.got.clear();
  load.run(80'000'000);
  BOOST_TEST(packets(net) == 0u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
}

BOOST_AUTO_TEST_CASE(an_incast_that_only_waits_is_no_deadlock) {
  Net net(with(ring(4, slow()), lanes(8 << 10)));
  Load load(net, {{0, 2}, {1, 2}, {3, 2}});
  load.run(50'000'000);
  BOOST_TEST(!net.network.pause_deadlock().has_value());
}

BOOST_AUTO_TEST_CASE(head_of_a_queue_is_dropped_when_its_life_is_over) {
  Qos qos = lanes(8 << 10);
  qos.head_of_queue_life = milliseconds(1);
  Net net(with(star(2, slow()), qos));
  net.control.set_pause_storm(Time{0}, 1, bit_of(3));
  Load load(net, {{0, 1}});
  load.run(10'500'000);
  // The first one waits from the moment at which the host's buffer is full.
  BOOST_TEST(net.network.statistics().lost == 10u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(!net.comments.empty());
  net.control.set_pause_storm(Time{10'500'000}, 1, 0);
  net.run();
  BOOST_TEST(packets(net) + 10 == load.sent);
}

BOOST_AUTO_TEST_CASE(link_that_comes_up_again_begins_with_the_room_that_there_is) {
  Net net(with(star(3, slow()), lanes(8 << 10)));
  Load load(net, {{0, 2}, {1, 2}});
  load.run(3'000'000);
  for (const bool backward : {false, true}) net.control.set_link_up(Time{3'000'000}, {0, backward}, false);
  load.run(3'001'000);
  for (const bool backward : {false, true}) net.control.set_link_up(Time{3'001'000}, {0, backward}, true);
  const int before = load.sent_by[0];
  load.run(20'000'000);
  net.run();
  BOOST_TEST(load.sent_by[0] - before > 0.4 * 17'000'000 / kFrameNs);
  BOOST_TEST(net.network.statistics().overflowed == 0u);
  BOOST_TEST(packets(net) + net.network.statistics().vanished == load.sent);
}

BOOST_AUTO_TEST_CASE(dead_switch_comes_back_with_empty_lanes) {
  Net net(with(star(4, slow()), lanes(8 << 10)));
  Load load(net, {{0, 3}, {1, 3}, {2, 3}});
  const std::uint32_t the_switch = 4;
  for (int round = 0; round < 40; ++round) {  // some find packets on their way to the switch
    load.run(load.now + 1'000'000 + round * 2'300);
    net.control.set_switch_up(Time{load.now}, the_switch, false);
    load.now += 100'000;
    net.run(load.now);
    const std::uint64_t vanished = net.network.statistics().vanished;
    net.network.submit(Time{load.now}, 0, Net::frame(0, 3, 1, kPayload, kClass3));
    BOOST_TEST(net.network.statistics().vanished == vanished + 1);
    net.control.set_switch_up(Time{load.now}, the_switch, true);
    load.now += 100'000;
    net.run(load.now);
  }
  net.got.clear();
  load.sent = 0;
  load.run(load.now + 20'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(static_cast<double>(load.sent) > 0.98 * 20'000'000 / kFrameNs);
}

BOOST_AUTO_TEST_CASE(packets_for_a_dead_cable_give_their_room_back) {
  Net net(with(star(3, slow()), lanes(8 << 10)));
  for (const bool backward : {false, true}) net.control.set_link_up(Time{0}, {2, backward}, false);
  Load dead(net, {{0, 2}});
  dead.run(5'000'000);
  BOOST_TEST(net.network.statistics().vanished > 300u);
  net.run(6'000'000);
  net.got.clear();
  Load load(net, {{0, 1}});
  load.now = 6'000'000;
  load.run(16'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(static_cast<double>(load.sent) > 0.98 * 10'000'000 / kFrameNs);
}

BOOST_AUTO_TEST_CASE(packets_for_a_group_give_their_room_back) {
  wire::FramePath path;
  path.source = node_gid(1);
  path.destination = wire::Gid::from_ipv4(0xe0010203);
  path.udp_source_port = 0xc000;
  path.traffic_class = kClass3;
  const verbena::test::PacketSpec spec{.opcode = verbena::test::ud(OperationCode::send_only),
                                       .dest_qp = wire::kMulticastQpn};
  const auto group = verbena::test::make_frame(wire::FrameTemplate(path), spec);
  Net net(with(star(3, slow()), lanes(8 << 10)));
  std::int64_t now = 0;
  // Two others take each; then nobody is left behind the switch.
  for (const bool has_listeners : {true, false}) {
    for (const std::uint32_t cable : {1u, 2u})
      for (const bool backward : {false, true}) net.control.set_link_up(Time{now}, {cable, backward}, has_listeners);
    now += 20'000'000;  // until routes follow
    net.run(now);
    net.got.clear();
    for (int i = 0; i < 1000; ++i, now += 10'000) {
      net.network.submit(Time{now}, 0, group);
      net.run(now + 9'999);
    }
    BOOST_TEST(packets(net) == (has_listeners ? 2000u : 0u));
  }
  for (const std::uint32_t cable : {1u, 2u})
    for (const bool backward : {false, true}) net.control.set_link_up(Time{now}, {cable, backward}, true);
  now += 20'000'000;
  net.run(now);
  net.got.clear();
  Load load(net, {{0, 1}});
  load.now = now;
  load.run(now + 10'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(static_cast<double>(load.sent) > 0.98 * 10'000'000 / kFrameNs);
}

BOOST_AUTO_TEST_CASE(lane_buffer_that_holds_no_largest_packet_is_refused) {
  const auto checked = check(with(star(2, slow()), lanes(4096)));
  BOOST_TEST_REQUIRE(!checked.ok());
  BOOST_TEST(checked.error().find("a lane's buffer of 4096 octets has no room") != std::string::npos);
}
