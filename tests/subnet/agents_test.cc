// The agents of a small subnet, and the ways to them: a manager's first steps, by hand.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"
#include "tests/support/subnet_world.h"

using namespace verbena;
using namespace verbena::subnet;
using test::kA;
using test::kB;
using World = test::SubnetWorld;

BOOST_AUTO_TEST_CASE(directed_routes_find_each_node) {
  World world;
  const auto node = [&](std::vector<std::uint8_t> path) {
    const auto answer = world.ask(std::move(path), wire::kMethodGet, wire::kAttributeNodeInfo);
    BOOST_REQUIRE(answer.has_value());
    const auto header = Smp(answer->octets).header();
    BOOST_TEST(header.method == 0x81);
    BOOST_TEST(header.status == wire::kDirectionBit);
    return Smp(answer->octets).read_data<wire::NodeInfoLayout>();
  };
  BOOST_TEST((node({}).type == wire::NodeType::channel_adapter && node({}).local_port == 1));
  BOOST_TEST((node({1}).type == wire::NodeType::switch_ && node({1}).local_port == 1 && node({1}).ports == 4));
  BOOST_TEST((node({1, 2}).node_guid == world.subnet.nodes()[2].plan.guid));
  BOOST_TEST((node({1, 1}).node_guid == world.subnet.nodes()[0].plan.guid));
}

BOOST_AUTO_TEST_CASE(routes_that_lead_nowhere_are_not_answered) {
  World world;
  const auto asked = [&](std::vector<std::uint8_t> path) {
    return world.ask(std::move(path), wire::kMethodGet, wire::kAttributeNodeInfo).has_value();
  };
  BOOST_TEST((!asked({1, 3}) && !asked({1, 9}) && !asked({2}) && !asked({1, 2, 1}) && !asked({1, 0})));
}

BOOST_AUTO_TEST_CASE(lids_lead_where_the_tables_say) {
  World world;
  BOOST_TEST(!world.ask_lid(wire::Lid(3), wire::kClassSubnetLid, wire::kAttributeNodeInfo).has_value());
  world.bring_up();
  for (const std::uint32_t lid : {1u, 2u, 3u})
    BOOST_TEST(world.ask_lid(wire::Lid(lid), wire::kClassSubnetLid, wire::kAttributeNodeInfo).has_value(), lid);
  BOOST_TEST(!world.ask_lid(wire::Lid(4), wire::kClassSubnetLid, wire::kAttributeNodeInfo).has_value());
}

BOOST_AUTO_TEST_CASE(a_port_goes_from_init_over_armed_to_active) {
  World world;
  wire::PortInfo info = world.port_info({}, 1);
  BOOST_TEST((info.state == wire::PortState::init));
  info.physical_state = wire::PortPhysicalState::no_change;
  info.state = wire::PortState::active;
  BOOST_TEST(world.set_port({}, 1, info) == wire::kStatusBadValue);
  info.state = wire::PortState::armed;
  BOOST_TEST(world.set_port({}, 1, info) == 0);
  info.state = wire::PortState::active;
  BOOST_TEST(world.set_port({}, 1, info) == 0);
  BOOST_TEST((world.port_info({}, 1).state == wire::PortState::active));
}

BOOST_AUTO_TEST_CASE(who_does_not_know_the_key_is_not_answered) {
  World world;
  wire::PortInfo info = world.port_info({1, 2}, 1);
  info.state = wire::PortState::no_change;
  info.physical_state = wire::PortPhysicalState::no_change;
  info.management_key = 0x1234;
  info.key_protect_bits = 2;
  BOOST_TEST(world.set_port({1, 2}, 1, info) == 0);
  BOOST_TEST(!world.ask({1, 2}, wire::kMethodGet, wire::kAttributePortInfo, 1).has_value());
  BOOST_TEST(world.set_port({1, 2}, 1, info) == 0xffff);
  const auto known = world.ask({1, 2}, wire::kMethodGet, wire::kAttributePortInfo, 1, {}, 0x1234);
  BOOST_REQUIRE(known.has_value());
  BOOST_TEST(Smp(known->octets).read_data<wire::PortInfoLayout>().key_violations == 2);
}

BOOST_AUTO_TEST_CASE(a_class_that_nobody_serves_is_refused_at_once) {
  constexpr std::uint8_t kCongestionControl = 0x21;
  World world;
  world.bring_up();
  const auto asked = [&](std::uint32_t lid, std::uint8_t method) {
    return world.ask_lid(wire::Lid(lid), kCongestionControl, 1, {}, method);
  };
  BOOST_TEST(!asked(3, wire::kMethodGet).has_value());  // a program of the node has it
  for (const std::uint32_t lid : {2u, 3u}) {
    world.is_wanted = lid == 2;  // switches have no programs
    for (const std::uint8_t method : {wire::kMethodGet, wire::kMethodSet}) {
      const auto answer = asked(lid, method);
      BOOST_REQUIRE(answer.has_value());
      const auto header = Smp(answer->octets).header();
      BOOST_TEST((header.method == 0x81 && header.status == wire::kStatusBadAttribute));
      BOOST_TEST((header.management_class == kCongestionControl && header.attribute == 1));
      BOOST_TEST((answer->source == wire::Lid(lid) && answer->destination == wire::Lid(1)));
    }
  }
  for (const std::uint8_t method : {std::uint8_t{3}, std::uint8_t{5}, std::uint8_t{0x12}, std::uint8_t{0x81}})
    BOOST_TEST(!asked(3, method).has_value());  // Send, Trap, GetTable, an answer
}

BOOST_AUTO_TEST_CASE(a_link_that_goes_down_is_told_until_it_is_repressed) {
  World world;
  world.bring_up();
  wire::PortInfo info = world.port_info({1}, 2);
  info.state = wire::PortState::no_change;
  info.physical_state = wire::PortPhysicalState::disabled;
  BOOST_TEST(world.set_port({1}, 2, info) == 0);
  BOOST_TEST((world.subnet.nodes()[2].ports[1].info.state == wire::PortState::down));
  BOOST_TEST(world.subnet.nodes()[1].switch_info.port_state_change);
  const auto is_trap = [](const World::Got& one) {
    const auto header = Smp(one.datagram.octets).header();
    return header.method == wire::kMethodTrap &&
           Smp(one.datagram.octets).read_data<wire::NoticeLayout>().trap == wire::kTrapLinkStateChanged;
  };
  BOOST_TEST(std::ranges::count_if(world.got, is_trap) == 1);
  const Datagram trap = std::ranges::find_if(world.got, is_trap)->datagram;
  BOOST_TEST((trap.source == wire::Lid(2)));
  world.got.clear();
  BOOST_REQUIRE(world.subnet.next_deadline().has_value());
  world.subnet.advance(*world.subnet.next_deadline());
  BOOST_TEST(std::ranges::count_if(world.got, is_trap) == 1);
  Datagram repress = trap;
  Smp smp(repress.octets);
  wire::AnyMadHeader header = smp.header();
  header.method = wire::kMethodTrapRepress;
  smp.set_header(header);
  std::swap(repress.source, repress.destination);
  world.subnet.send(kA, repress);
  BOOST_TEST(!world.subnet.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(counters_count_what_has_passed) {
  World world;
  world.bring_up();
  const auto data = wire::PortCountersLayout::emit({.port = 1});
  const auto answer = world.ask_lid(wire::Lid(3), wire::kClassPerformance, wire::kAttributePortCounters, data);
  BOOST_REQUIRE(answer.has_value());
  const auto counters = wire::PortCountersLayout::parse(
      std::span(answer->octets).subspan<wire::kPerformanceDataAt, wire::PortCountersLayout::bytes>());
  BOOST_TEST(counters.port == 1);
  BOOST_TEST((counters.receive_packets > 0 && counters.receive_packets == counters.transmit_packets + 1));
  BOOST_TEST(counters.receive_words == counters.receive_packets * 72);
}

BOOST_AUTO_TEST_CASE(what_no_agent_answers_is_for_programs) {
  World world;
  world.bring_up();
  Datagram datagram;
  datagram.octets.resize(wire::kMadBytes);
  Smp(datagram.octets)
      .set_header({.management_class = wire::kClassSubnetAdministration,
                   .class_version = 2,
                   .method = wire::kMethodGet,
                   .attribute = 0x35});
  datagram.source = wire::Lid(1);
  datagram.destination = wire::Lid(3);
  datagram.destination_qp = datagram.source_qp = wire::kGsiQpn;
  world.subnet.send(kA, datagram);
  BOOST_REQUIRE(world.got.size() == 1u);
  BOOST_TEST((world.got[0].at == kB));
}

BOOST_AUTO_TEST_CASE(reserved_bits_of_a_modifier_name_no_block_of_their_own) {
  World world;
  std::array<std::byte, wire::kSmpDataBytes> block{};
  block[1] = std::byte{6};
  BOOST_REQUIRE(world.ask({1}, wire::kMethodSet, wire::kAttributeMulticastForwarding, 3, block).has_value());
  constexpr std::uint32_t kReserved = 0x0ffffe00;
  const auto answer = world.ask({1}, wire::kMethodGet, wire::kAttributeMulticastForwarding, 3 | kReserved);
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST(std::ranges::equal(Smp(answer->octets).data(), block));
  BOOST_TEST(world.subnet.nodes()[1].multicast.size() == 1u);
}
