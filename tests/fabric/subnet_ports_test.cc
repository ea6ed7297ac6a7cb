// What the ports of a managed subnet do with packets: states, lanes, P_Keys, damage, and what they count.
#include "emulator/fabric/subnet_forwarding.h"
#include "tests/fabric/subnet_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

constexpr PacketOf kToN3{.from = 1, .to = 3};

/// Every level to this lane.
LanesOfLevels all_to(std::uint8_t lane) {
  LanesOfLevels lanes;
  lanes.fill(lane);
  return lanes;
}

using Octets = std::initializer_list<std::uint8_t>;
using Keys = std::initializer_list<std::uint16_t>;

struct PortAt {
  std::uint32_t vertex;
  std::uint8_t port;
};

}  // namespace

// -- States

BOOST_AUTO_TEST_CASE(data_leaves_by_active_ports_and_enters_armed_ones) {
  using enum wire::PortState;
  Pair net;
  for (const PortAt sender : {PortAt{0, 1}, PortAt{Pair::s1, 3}, PortAt{Pair::s2, 1}})
    for (const wire::PortState state : {down, init, armed, active}) {
      net.set_state(sender.vertex, sender.port, state);
      const std::uint64_t discards = net.traffic(sender.vertex, sender.port).sent_discards;
      BOOST_TEST((net.hosts_reached(0, kToN3) == (state == active ? Hosts{2} : Hosts{})));
      BOOST_TEST(net.traffic(sender.vertex, sender.port).sent_discards == discards + (state == active ? 0 : 1));
    }
  for (const PortAt receiver : {PortAt{Pair::s1, 1}, PortAt{Pair::s2, 3}, PortAt{2, 1}})
    for (const wire::PortState state : {down, init, armed, active}) {
      net.set_state(receiver.vertex, receiver.port, state);
      BOOST_TEST((net.hosts_reached(0, kToN3) == (state >= armed ? Hosts{2} : Hosts{})));
    }
  net.set_state(2, 1, no_change);
  BOOST_TEST((net.subnet.port_state(2, 1) == active));
  net.set_state(2, 2, init);  // there is none
  BOOST_TEST((net.subnet.port_state(2, 2) == down));
}

BOOST_AUTO_TEST_CASE(what_waits_at_a_port_is_discarded_with_its_state) {
  Pair net;
  for (std::uint32_t i = 0; i < 10; ++i) net.send(0, {.from = 1, .to = 3, .psn = i});
  net.run(microseconds(1));
  net.set_state(0, 1, wire::PortState::init);
  net.run();
  BOOST_TEST(net.got.size() == 1u);  // its transmission had begun
  BOOST_TEST(net.traffic(0, 1).sent_discards == 9u);
  net.set_state(0, 1, wire::PortState::active);
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{2}));
}

BOOST_AUTO_TEST_CASE(cable_that_is_back_has_ports_in_init) {
  using enum wire::PortState;
  Pair net;
  net.set_cable_up(Pair::kTrunk, false);
  BOOST_TEST((net.subnet.port_state(Pair::s1, 3) == down && net.subnet.port_state(Pair::s2, 3) == down));
  net.set_state(Pair::s1, 3, active);  // there is no signal
  BOOST_TEST((net.subnet.port_state(Pair::s1, 3) == down));
  net.set_cable_up(Pair::kTrunk, true);
  BOOST_TEST((net.subnet.port_state(Pair::s1, 3) == init && net.subnet.port_state(Pair::s2, 3) == init));
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  net.set_state(Pair::s1, 3, active);
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  net.set_state(Pair::s2, 3, armed);
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{2}));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 2}) == Hosts{1}));
}

BOOST_AUTO_TEST_CASE(dead_switch_takes_its_neighbours_ports_down) {
  using enum wire::PortState;
  Pair net;
  net.control.set_switch_up(Time{net.now}, Pair::s2, false);
  for (const PortAt port : {PortAt{Pair::s1, 3}, PortAt{2, 1}, PortAt{3, 1}})
    BOOST_TEST((net.subnet.port_state(port.vertex, port.port) == down));
  BOOST_TEST((net.subnet.port_state(Pair::s1, 1) == active));
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  net.control.set_switch_up(Time{net.now}, Pair::s2, true);
  BOOST_TEST((net.subnet.port_state(Pair::s1, 3) == init && net.subnet.port_state(Pair::s2, 1) == init));
  net.set_up();
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{2}));  // the tables are still there
}

// -- Lanes

BOOST_AUTO_TEST_CASE(lane_is_the_level_modulo_eight_by_default) {
  Pair net;
  for (const std::uint8_t level : Octets{0, 3, 7, 11, 15}) {
    BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .level = level}) == Hosts{2}));
    BOOST_TEST((net.got.size() == 1 && net.got[0].lane == level % 8 && net.got[0].is_right));
  }
}

BOOST_AUTO_TEST_CASE(lane_is_that_of_the_tables_hop_by_hop) {
  Pair net;
  net.subnet.set_lanes(0, 0, 1, all_to(5));
  net.subnet.set_lanes(Pair::s1, 1, 3, all_to(2));
  net.subnet.set_lanes(Pair::s1, 2, 3, all_to(6));
  LanesOfLevels by_level = all_to(1);
  by_level[9] = 4;
  net.subnet.set_lanes(Pair::s2, 3, 1, by_level);
  for (const std::uint8_t level : Octets{0, 9}) {
    net.lanes_seen.clear();
    BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .level = level, .has_grh = level == 9}) == Hosts{2}));
    BOOST_TEST((net.lanes_seen == std::vector<int>{5, 5, 2, level == 9 ? 4 : 1}));
    BOOST_TEST((net.got.size() == 1 && net.got[0].is_right));
  }
  net.lanes_seen.clear();
  BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 3}) == Hosts{2}));
  BOOST_TEST((net.lanes_seen == std::vector<int>{0, 0, 6, 1}));
  BOOST_TEST(net.seen_wrong == 0);
}

BOOST_AUTO_TEST_CASE(room_of_each_lane_comes_back_where_lanes_change) {
  Pair net(managed(dumbbell(2, slow()), 8 << 10));
  net.subnet.set_lanes(0, 0, 1, all_to(5));
  net.subnet.set_lanes(Pair::s1, 1, 3, all_to(2));
  net.subnet.set_lanes(Pair::s2, 3, 1, all_to(1));
  for (std::uint32_t i = 0; i < 500; ++i) {
    net.send(0, {.from = 1, .to = 3, .psn = i, .payload = 1024});
    net.run(microseconds(10));
  }
  net.run();
  BOOST_TEST(net.got.size() == 500u);
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_wait.ns == 0);
}

BOOST_AUTO_TEST_CASE(lane_that_is_not_there_drops) {
  for (const std::uint8_t lane : {std::uint8_t{8}, kLaneDropped}) {
    Pair net;
    LanesOfLevels lanes = all_to(0);
    lanes[4] = lane;
    net.subnet.set_lanes(Pair::s1, 1, 3, lanes);
    BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .level = 4}) == Hosts{}));
    BOOST_TEST(net.traffic(Pair::s1, 1).relay_errors == 1u);
    BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .level = 5}) == Hosts{2}));
    BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 3, .level = 4}) == Hosts{2}));  // by another port
    net.subnet.set_lanes(1, 0, 1, lanes);
    BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 3, .level = 4}) == Hosts{}));
    BOOST_TEST(net.traffic(1, 1).sent_discards == 1u);
  }
}

BOOST_AUTO_TEST_CASE(deferred_icrc_is_made_for_whoever_sees_the_packet) {
  for (const bool is_seen : {false, true}) {
    Pair net;
    if (!is_seen) net.network.observe(nullptr);
    net.subnet.set_lanes(Pair::s2, 3, 1, all_to(2));
    std::vector<std::byte> packet = make_packet(kToN3);
    std::fill(packet.end() - 6, packet.end(), std::byte{0});
    net.network.submit(Time{0}, 0, packet, wire::IcrcState::deferred);
    net.run();
    BOOST_TEST_REQUIRE(net.got.size() == 1u);
    BOOST_TEST((net.got[0].icrc == (is_seen ? wire::IcrcState::present : wire::IcrcState::deferred)));
    BOOST_TEST(net.got[0].is_right == is_seen);
    BOOST_TEST(net.got[0].lane == 2);
    BOOST_TEST(net.seen_wrong == 0);
  }
}

BOOST_AUTO_TEST_CASE(lanes_take_turns_by_the_tables_of_their_port) {
  Pair net;
  const auto lanes_in_order = [&] {
    net.got.clear();
    for (std::uint32_t i = 0; i < 12; ++i)
      for (const std::uint8_t level : Octets{0, 1}) net.send(0, {.from = 1, .to = 3, .level = level, .payload = 1000});
    net.run(milliseconds(10));
    std::string order;
    for (const auto& one : net.got) order += static_cast<char>('0' + one.lane);
    return order.substr(1, 12);  // the first one found the wire free
  };
  // With 26 octets of headers and CRCs four of them are more than 4096, and each more than a weight of 16.
  net.subnet.set_arbitration(0, 1, {.high = {{1, 255}}, .low = {{0, 255}}, .high_limit = 1});
  BOOST_TEST(lanes_in_order() == "111101111011");
  net.subnet.set_arbitration(0, 1, {.high = {}, .low = {{0, 16}, {1, 32}}});
  BOOST_TEST(lanes_in_order() == "110110110110");
  net.subnet.set_arbitration(0, 1, {.high = {{1, 1}}, .low = {{0, 1}}, .high_limit = LaneArbitration::kUnlimited});
  BOOST_TEST(lanes_in_order() == "111111111111");
}

// -- P_Keys

BOOST_AUTO_TEST_CASE(port_that_enforces_lets_its_partitions_pass) {
  const std::vector<std::uint16_t> keys{0xffff, 0x0012, 0x8034, 0x0000};
  for (const bool inbound : {false, true}) {
    Pair net;
    const std::uint8_t port = inbound ? 1 : 3;
    net.subnet.set_partitions(Pair::s1, port, keys, inbound, !inbound);
    std::uint64_t errors = 0;
    const auto passes = [&](std::uint16_t pkey) {
      return net.hosts_reached(0, {.from = 1, .to = 3, .pkey = pkey, .has_grh = (pkey & 1) != 0}) == Hosts{2};
    };
    for (const std::uint16_t pkey : Keys{0xffff, 0x7fff, 0x8012, 0x0012, 0x8034, 0x0034}) BOOST_TEST(passes(pkey));
    // None of its partitions; no partition at all.
    for (const std::uint16_t pkey : Keys{0x8013, 0x0035, 0x8000, 0x0000}) {
      BOOST_TEST(!passes(pkey));
      ++errors;
    }
    BOOST_TEST(net.traffic(Pair::s1, 1).received_constraint_errors == (inbound ? errors : 0));
    BOOST_TEST(net.traffic(Pair::s1, 3).sent_constraint_errors == (inbound ? 0 : errors));
    BOOST_TEST(net.traffic(Pair::s1, 1).relay_errors == 0u);
    BOOST_TEST(net.subnet.has_violations());
    const std::vector<PartitionViolation> violations = net.subnet.take_violations();
    BOOST_REQUIRE(violations.size() == errors);
    BOOST_TEST((violations[1].vertex == Pair::s1 && violations[1].port == port && violations[1].packet.key == 0x0035));
    BOOST_TEST((violations[1].packet.source == wire::Lid(1) && violations[1].packet.destination == wire::Lid(3)));
    BOOST_TEST(!net.subnet.has_violations());
    for (std::size_t i = 0; i <= NetworkSubnet::kViolationsMax; ++i) BOOST_TEST(!passes(0x8013));
    BOOST_TEST(net.subnet.take_violations().size() == NetworkSubnet::kViolationsMax);
    // Neither the other direction nor another port.
    BOOST_TEST((net.hosts_reached(2, {.from = 3, .to = 1, .pkey = 0x8013}) == Hosts{0}));
    BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 1, .pkey = 0x8013}) == Hosts{0}));
    net.subnet.set_partitions(Pair::s1, port, keys, false, false);
    BOOST_TEST(passes(0x0012));
  }
}

BOOST_AUTO_TEST_CASE(packet_above_the_neighbours_mtu_is_discarded) {
  Pair net;
  net.subnet.set_mtu(Pair::s1, 3, 1024);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 1024}) == Hosts{2}));
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_discards == 0u);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 2048}) == Hosts{}));
  BOOST_TEST((net.traffic(Pair::s1, 3).sent_discards == 1u && net.traffic(Pair::s1, 3).sent_mtu_discards == 1u));
  // Neither the other direction nor another port.
  BOOST_TEST((net.hosts_reached(2, {.from = 3, .to = 1, .payload = 2048}) == Hosts{0}));
  BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 1, .payload = 2048}) == Hosts{0}));
  net.subnet.set_mtu(Pair::s1, 3, 4096);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 2048}) == Hosts{2}));
}

// -- Damage, and what is counted

BOOST_AUTO_TEST_CASE(damaged_packet_ends_at_the_next_port) {
  for (const std::string_view fault : {"corrupt where=payload", "corrupt where=icrc", "truncate to=100"}) {
    Pair net;
    net.set_faults({Pair::kTrunk, false}, {fault});
    BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
    BOOST_TEST((net.hosts_reached(1, {.from = 2, .to = 1}) == Hosts{0}));
    const PortTraffic at = net.traffic(Pair::s2, 3);
    BOOST_TEST((at.symbol_errors == 1 && at.receive_errors == 1 && at.received_packets == 1));
    BOOST_TEST((at.relay_errors == 0 && net.traffic(Pair::s1, 3).symbol_errors == 0));
    BOOST_TEST(net.traffic(Pair::s2, 1).sent_packets == 0u);
    net.set_faults({Pair::kTrunk, false}, {});
    for (int i = 0; i < 300; ++i) BOOST_TEST_REQUIRE((net.hosts_reached(0, kToN3) == Hosts{2}));
  }
}

BOOST_AUTO_TEST_CASE(damage_that_no_vcrc_tells_goes_on) {
  Pair net;
  net.subnet.set_lanes(Pair::s2, 3, 1, all_to(3));
  net.set_faults({Pair::kTrunk, false}, {"corrupt where=payload repair=yes"});
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{2}));
  BOOST_TEST(net.traffic(Pair::s2, 3).symbol_errors == 0u);
  BOOST_TEST((net.got[0].is_right && net.got[0].lane == 3));
}

BOOST_AUTO_TEST_CASE(damage_on_the_last_cable_ends_at_the_host_s_port) {
  Pair net;
  net.set_faults({2, true}, {"corrupt where=payload"});
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  BOOST_TEST((net.traffic(2, 1).symbol_errors == 1 && net.traffic(2, 1).receive_errors == 1));
}

BOOST_AUTO_TEST_CASE(ports_count_packets_and_octets_but_no_link_packets) {
  Pair net;
  const std::uint64_t octets = make_packet(kToN3).size() - wire::kVcrcBytes;
  for (int i = 0; i < 1000; ++i) {
    net.send(0, kToN3);
    net.run(microseconds(10));
  }
  net.run();
  BOOST_TEST(net.network.statistics().flow_control_packets > 10u);
  for (const PortAt sender : {PortAt{0, 1}, PortAt{Pair::s1, 3}, PortAt{Pair::s2, 1}}) {
    const PortTraffic traffic = net.traffic(sender.vertex, sender.port);
    BOOST_TEST((traffic.sent_packets == 1000 && traffic.sent_octets == 1000 * octets));
    BOOST_TEST((traffic.received_packets == 0 && traffic.received_octets == 0));
  }
  for (const PortAt receiver : {PortAt{Pair::s1, 1}, PortAt{Pair::s2, 3}, PortAt{2, 1}}) {
    const PortTraffic traffic = net.traffic(receiver.vertex, receiver.port);
    BOOST_TEST((traffic.received_packets == 1000 && traffic.received_octets == 1000 * octets));
    BOOST_TEST((traffic.sent_packets == 0 && traffic.received_multicast_packets == 0));
  }
  BOOST_TEST(net.traffic(Pair::s1, 2).sent_packets == 0u);
  BOOST_TEST(net.traffic(9, 1).sent_packets == 0u);
}

BOOST_AUTO_TEST_CASE(port_without_credit_counts_how_long_it_waits) {
  Pair net;
  net.control.set_pause_storm(Time{0}, 2, bit_of(0));
  for (std::uint32_t i = 0; i < 40; ++i) {
    net.send(0, {.from = 1, .to = 3, .psn = i, .payload = 1024});
    net.run(microseconds(10));
  }
  net.run(milliseconds(10));
  BOOST_TEST(net.traffic(Pair::s2, 1).sent_wait.ns > milliseconds(9).ns);
  BOOST_TEST(net.traffic(Pair::s2, 1).sent_wait.ns <= net.now);
  BOOST_TEST(net.traffic(Pair::s2, 2).sent_wait.ns == 0);
}

BOOST_AUTO_TEST_CASE(packet_above_the_mtu_of_a_port_is_discarded) {
  Topology topology = managed(dumbbell(2, slow()));
  topology.cables[Pair::kTrunk].parameters.mtu_bytes = 512;
  Pair net(topology);
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 512}) == Hosts{2}));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 1024}) == Hosts{}));
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_discards == 1u);
}

BOOST_AUTO_TEST_CASE(packets_without_payload_go_the_same_ways) {
  Pair net({.payload = false});
  net.network.observe(nullptr);
  net.subnet.set_lanes(Pair::s2, 3, 1, all_to(2));
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 4096}) == Hosts{2}));
  BOOST_TEST((net.got.size() == 1 && net.got[0].lane == 2));
  net.set_faults({Pair::kTrunk, false}, {"corrupt where=payload"});
  BOOST_TEST((net.hosts_reached(0, {.from = 1, .to = 3, .payload = 4096}) == Hosts{}));
  BOOST_TEST(net.traffic(Pair::s2, 3).symbol_errors == 1u);
}
