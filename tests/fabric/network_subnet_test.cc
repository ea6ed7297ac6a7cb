// Where packets go in a managed subnet: by what is programmed into switches and ports, and nowhere else.
#include "emulator/fabric/network_subnet.h"

#include "tests/fabric/subnet_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

/// Three switches in a ring with a host each, at port 1. s1: 2 to s2, 3 to s3. s2: 2 to s1, 3 to s3. s3: 2 to s2,
/// 3 to s1.
Topology triangle(Duration life = {}) {
  Topology topology = managed(ring(3, slow()), 8 << 10);
  topology.qos->head_of_queue_life = life;
  return topology;
}

/// Two cables between the switches: their ports 3 and 4.
Topology two_trunks() {
  Topology topology = managed(dumbbell(2, slow()));
  topology.cables.push_back(topology.cables.back());
  return topology;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_passes_before_anything_is_programmed) {
  Managed net(managed(dumbbell(2, slow())));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST(net.network.statistics().vanished == 1u);
  BOOST_TEST((net.subnet.port_state(4, 1) == wire::PortState::init));
  net.set_up();
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST(net.traffic(4, 1).relay_errors == 1u);
  net.route(4, {1, 2, 3, 3});
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST(net.traffic(5, 3).relay_errors == 1u);
  net.route(5, {3, 3, 1, 2});
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{2}));
  BOOST_TEST(net.network.statistics().vanished == 3u);
}

BOOST_AUTO_TEST_CASE(packet_follows_the_tables_of_two_switches) {
  Pair net;
  for (std::uint32_t from = 0; from < 4; ++from)
    for (std::uint32_t to = 0; to < 4; ++to)
      for (const bool has_grh : {false, true}) {
        BOOST_TEST((net.hosts_reached(from, {.from = from + 1, .to = to + 1, .has_grh = has_grh}) == Hosts{to}));
        BOOST_TEST((net.got.size() == 1 && net.got[0].is_right));
      }
  BOOST_TEST(net.seen_wrong == 0);
}

BOOST_AUTO_TEST_CASE(tables_that_lead_round_are_named) {
  Managed net(triangle());
  net.set_up();
  constexpr std::uint32_t s1 = 3, s2 = 4, s3 = 5;
  net.route(s1, {1, 2, 3});
  net.route(s2, {2, 1, 3});
  net.route(s3, {3, 2, 1});
  BOOST_TEST(NetworkSubnet::loops(net.network, 16).empty());
  // LIDs 1 and 3 go s1, s2, s3 and back to s1; of LID 2, s1 and s2 name each other by one cable, which drops.
  net.route(s1, {2, 2, 2});
  net.route(s2, {3, 2, 3});
  net.route(s3, {3, 3, 3});
  const auto loops = NetworkSubnet::loops(net.network, 16);
  BOOST_TEST_REQUIRE(loops.size() == 1u);
  BOOST_TEST((loops[0].lid == 1 && loops[0].lids == 2 && loops[0].links.size() == 3));
  const Topology& topology = net.network.topology();
  std::vector<std::uint32_t> from;
  for (const LinkId link : loops[0].links)
    from.push_back(link.backward ? topology.cables[link.cable].b : topology.cables[link.cable].a);
  std::ranges::sort(from);
  BOOST_TEST((from == std::vector<std::uint32_t>{s1, s2, s3}));
  BOOST_TEST(NetworkSubnet::loops(net.network, 0).empty());
  net.set_state(s2, 3, wire::PortState::init);
  BOOST_TEST(NetworkSubnet::loops(net.network, 16).empty());
}

BOOST_AUTO_TEST_CASE(two_cables_between_two_switches_make_a_loop) {
  Managed net(two_trunks());
  net.set_up();
  net.route(4, {1, 2, 3, 3});
  net.route(5, {3, 3, 1, 4});  // for LID 4 back by the other cable
  const auto loops = NetworkSubnet::loops(net.network, 16);
  BOOST_TEST_REQUIRE(loops.size() == 1u);
  BOOST_TEST((loops[0].lid == 4 && loops[0].lids == 1 && loops[0].links.size() == 2));
  BOOST_TEST((loops[0].links[0].cable != loops[0].links[1].cable));
}

BOOST_AUTO_TEST_CASE(host_takes_only_what_is_for_a_lid_of_its_port) {
  Pair net;
  net.route(Pair::s2, {3, 3, 2, 1});  // n3's and n4's are mixed up
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST(net.traffic(3, 1).misdirected == 1u);
  BOOST_TEST(net.traffic(2, 1).misdirected == 0u);
  net.subnet.set_lids(3, wire::Lid(3), 0);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{3}));
  net.subnet.set_lids(3, wire::kLidNone, 0);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST(net.traffic(3, 1).misdirected == 2u);
}

BOOST_AUTO_TEST_CASE(lids_without_a_port_are_dropped_where_they_are_not_known) {
  Pair net;
  net.route(Pair::s1, {1, 2, 3, 3, 9, 255, 0});  // LIDs 5, 6 and 7
  for (const std::uint32_t lid : {5u, 6u, 7u, 8u, 0xbfffu, 0xffffu, 0xc000u})
    BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = lid}) == Hosts{}));
  const PortTraffic in = net.traffic(Pair::s1, 1);
  BOOST_TEST((in.relay_errors == 7u && in.unknown_lid_errors == 7u && in.looping_errors == 0u && in.lane_errors == 0u));
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_packets == 0u);
}

BOOST_AUTO_TEST_CASE(switch_sends_nothing_back_where_it_came_from) {
  Pair net;
  net.route(Pair::s2, {3, 3, 3, 3});
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST((net.traffic(Pair::s2, 3).relay_errors == 1u && net.traffic(Pair::s2, 3).looping_errors == 1u));
  BOOST_TEST(net.traffic(Pair::s2, 3).sent_packets == 0u);
}

BOOST_AUTO_TEST_CASE(lids_of_one_port_may_take_different_ways) {
  Pair net(two_trunks());
  net.subnet.set_lids(2, wire::Lid(8), 2);
  const std::vector<std::uint8_t> there{3, 4, 3, 4};
  const std::vector<std::uint8_t> down{1, 1, 1, 1};
  net.subnet.set_forwarding(Pair::s1, wire::Lid(8), there);
  net.subnet.set_forwarding(Pair::s2, wire::Lid(8), down);
  for (std::uint32_t lid = 8; lid < 12; ++lid) BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = lid}) == Hosts{2}));
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_packets == 2u);
  BOOST_TEST(net.traffic(Pair::s1, 4).sent_packets == 2u);
  BOOST_TEST(net.traffic(Pair::s2, 4).received_packets == 2u);
  const std::vector<std::uint8_t> beyond{3};
  net.subnet.set_forwarding(Pair::s1, wire::Lid(12), beyond);
  const std::vector<std::uint8_t> to_n3{1};
  net.subnet.set_forwarding(Pair::s2, wire::Lid(12), to_n3);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 12}) == Hosts{}));
  BOOST_TEST(net.traffic(2, 1).misdirected == 1u);
}

BOOST_AUTO_TEST_CASE(host_hears_its_own_lid_without_its_switch) {
  Pair net;
  BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 2}) == Hosts{1}));
  BOOST_TEST(net.traffic(1, 1).sent_packets == 0u);
}

BOOST_AUTO_TEST_CASE(packet_in_a_loop_goes_round_until_the_tables_change) {
  Managed net(triangle());
  net.set_up();
  net.route(3, {1, 2, 2});
  net.route(4, {2, 1, 3});
  net.route(5, {3, 2, 3});  // LID 3: s1, s2, s3, s1, ...
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  const std::uint64_t rounds = net.traffic(3, 2).sent_packets;
  BOOST_TEST(rounds > 50u);  // of three hops, 3.3 us each, in a millisecond
  net.route(5, {3, 2, 1});
  net.run();
  BOOST_TEST((net.got.size() == 1 && net.got[0].host == 2 && net.got[0].is_right));
}

BOOST_AUTO_TEST_CASE(loop_that_is_full_ends_by_the_life_of_its_heads) {
  for (const Duration life : {Duration{}, milliseconds(1)}) {
    Managed net(triangle(life));
    net.set_up();
    net.route(3, {1, 2, 2});
    net.route(4, {2, 1, 3});
    net.route(5, {3, 2, 3});
    std::uint64_t sent = 0;
    for (int i = 0; i < 200; ++i)
      for (const std::uint32_t host : {0u, 1u}) {
        net.send(host, {.from = host + 1, .to = 3, .psn = static_cast<std::uint32_t>(++sent)});
        net.run(microseconds(1));
      }
    net.run(milliseconds(50));
    net.route(5, {3, 2, 1});
    net.run(milliseconds(50));
    const std::uint64_t lost = net.network.statistics().lost;
    BOOST_TEST((life.ns != 0) == (lost > 0));
    if (life.ns != 0) {
      BOOST_TEST(net.got.size() + lost == sent);
      BOOST_TEST(net.traffic(3, 2).sent_discards + net.traffic(4, 3).sent_discards + net.traffic(5, 3).sent_discards ==
                 lost);
    } else {
      BOOST_TEST(net.got.empty());  // those in the loop wait for each other, whatever the tables say now
      BOOST_TEST(net.network.pause_deadlock().has_value());
    }
  }
}

BOOST_AUTO_TEST_CASE(life_of_a_head_may_be_that_of_one_port) {
  Managed net(triangle());
  net.set_up();
  net.route(3, {1, 2, 3});
  net.route(5, {3, 2, 1});
  net.subnet.set_head_of_queue_life(5, 1, milliseconds(2));
  net.control.set_pause_storm(Time{0}, 2, bit_of(0));
  for (std::uint32_t i = 0; i < 40; ++i) {
    net.send(0, {.from = 1, .to = 3, .psn = i, .payload = 1024});
    net.run(microseconds(10));
  }
  net.run(milliseconds(7));
  BOOST_TEST(net.traffic(5, 1).sent_discards == 3u);
  net.subnet.set_head_of_queue_life(5, 1, {});
  net.run(milliseconds(20));
  BOOST_TEST(net.traffic(5, 1).sent_discards == 3u);
}

BOOST_AUTO_TEST_CASE(group_s_packet_leaves_by_all_its_ports_but_its_own) {
  Pair net;
  const wire::Lid group(0xc003);
  const std::vector<std::uint8_t> all{1, 2, 3};
  const std::vector<std::uint8_t> first{1, 3};
  net.subnet.set_multicast(Pair::s1, group, all);
  net.subnet.set_multicast(Pair::s2, group, first);
  const PacketOf packet{.from = 1, .to = group.value(), .psn = 77};
  BOOST_TEST((net.hosts_reached(0, packet) == Hosts{1, 2}));
  for (const auto& one : net.got) BOOST_TEST((one.is_right && one.psn == 77));
  BOOST_TEST((net.hosts_reached(2, packet) == Hosts{0, 1}));
  BOOST_TEST((net.hosts_reached(3, packet) == Hosts{2, 0, 1}));
  BOOST_TEST(net.traffic(Pair::s2, 1).sent_multicast_packets == 2u);
  BOOST_TEST(net.traffic(2, 1).received_multicast_packets == 2u);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = group.value() + 1u}) == Hosts{}));
  BOOST_TEST(net.traffic(Pair::s1, 1).relay_errors == 1u);
  // Credits come back, though several copies share one room.
  for (std::uint32_t i = 0; i < 1000; ++i) {
    net.send(0, packet);
    net.run(microseconds(20));
  }
  net.run();
  BOOST_TEST(net.network.statistics().overflowed == 0u);
  BOOST_TEST(net.traffic(2, 1).received_multicast_packets == 1002u);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{2}));
}

BOOST_AUTO_TEST_CASE(host_behind_another_one_needs_no_switch) {
  Topology topology;
  topology.hosts = 2;
  topology.vertices = {{"n1", VertexKind::host}, {"n2", VertexKind::host}};
  topology.cables = {{0, 1, slow().host_cable}};
  Managed net(managed(topology));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 2}) == Hosts{}));
  net.set_up();
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 2}) == Hosts{1}));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 9}) == Hosts{}));
  BOOST_TEST(net.traffic(1, 1).misdirected == 1u);
}

BOOST_AUTO_TEST_CASE(hosts_of_a_partition_do_not_hear_each_other) {
  Pair net;
  net.control.set_partition(0, 2, true);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{}));
  BOOST_TEST((net.hosts_reached(2, {.from = 3, .to = 1}) == Hosts{0}));
  BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 3}) == Hosts{2}));
  net.control.set_partition(0, 2, false);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{2}));
}

BOOST_AUTO_TEST_CASE(ports_that_a_cable_names_are_those_of_the_tables) {
  Topology topology = managed(dumbbell(2, slow()));
  topology.cables[Pair::kTrunk].port_a = 36;
  topology.cables[2].port_b = 17;  // n3 at s2
  Managed net(topology);
  net.set_up();
  net.route(Pair::s1, {1, 2, 36, 36});
  net.route(Pair::s2, {3, 3, 17, 2});
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3}) == Hosts{2}));
  BOOST_TEST(net.traffic(Pair::s1, 36).sent_packets == 1u);
  BOOST_TEST(net.traffic(Pair::s2, 17).sent_packets == 1u);
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_packets == 0u);
}
