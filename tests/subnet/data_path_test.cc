// What a subnet tells a data path of, what it hears from one, and what happens to its cables and switches.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <set>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"
#include "tests/support/subnet_world.h"

using namespace verbena;
using namespace verbena::subnet;
using test::kA;

namespace {

constexpr std::size_t kSwitch = 1;
constexpr std::array<std::byte, wire::kSmpDataBytes> kNothing{};

class Network : public Listener, public DataPath {
 public:
  void forwarding_changed(std::size_t node, std::uint32_t first, std::uint32_t lids) override {
    BOOST_TEST(node == kSwitch);
    for (std::uint32_t i = 0; i < lids; ++i) forwarded.insert(first + i);
  }
  void groups_changed(std::size_t, std::uint32_t first, std::uint32_t groups) override {
    group = first;
    BOOST_TEST(groups == 32u);
  }
  void lanes_changed(PortEnd out, std::uint8_t in) override { lanes.push_back({out, in}); }
  void arbitration_changed(PortEnd port) override { arbitrated.push_back(port); }
  void pkeys_changed(PortEnd port) override { keyed.push_back(port); }
  void port_changed(PortEnd port, bool asks) override {
    changed.push_back(port);
    reregistered = reregistered || asks;
  }
  void node_restarted(std::size_t node) override { restarted.push_back(node); }
  PortTotals totals(PortEnd port) override { return port == kA ? data : PortTotals{}; }

  std::set<std::uint32_t> forwarded;
  std::uint32_t group = 0;
  std::vector<std::pair<PortEnd, std::uint8_t>> lanes;
  std::vector<PortEnd> arbitrated, keyed, changed;
  std::vector<std::size_t> restarted;
  bool reregistered = false;
  PortTotals data;
};

struct World : test::SubnetWorld {
  World() { subnet.connect(network, network); }
  const Node& of_switch() { return subnet.nodes()[kSwitch]; }
  template <class AttributeLayout>
  auto performance(std::uint16_t attribute, std::uint8_t method, const typename AttributeLayout::Header& asked) {
    const auto octets = AttributeLayout::emit(asked);
    const auto answer = ask_lid(wire::Lid(1), wire::kClassPerformance, attribute, octets, method);
    BOOST_REQUIRE(answer.has_value());
    return AttributeLayout::parse(
        std::span(answer->octets).template subspan<wire::kPerformanceDataAt, AttributeLayout::bytes>());
  }
  wire::PortCounters counters(std::uint8_t method, const wire::PortCounters& asked) {
    return performance<wire::PortCountersLayout>(wire::kAttributePortCounters, method, asked);
  }
  std::size_t traps() {
    return static_cast<std::size_t>(std::ranges::count_if(
        got, [](const Got& one) { return Smp(one.datagram.octets).header().method == wire::kMethodTrap; }));
  }
  Network network;
};

}  // namespace

BOOST_AUTO_TEST_CASE(tables_of_a_switch_are_told_as_they_are_set) {
  World world;
  world.bring_up();
  BOOST_TEST((world.network.forwarded.contains(3) && world.of_switch().way_to(3) == 2));
  BOOST_TEST((world.of_switch().way_to(4) == kNoPort && world.of_switch().way_to(60000) == kNoPort));
  BOOST_TEST(std::ranges::count(world.network.changed, PortEnd{2, 1}) > 0);

  std::array<std::byte, wire::kSmpDataBytes> block{};
  block[2 * 5 + 1] = std::byte{0b110};
  BOOST_REQUIRE(world.ask({1}, wire::kMethodSet, wire::kAttributeMulticastForwarding, 1, block).has_value());
  BOOST_TEST(world.network.group == 0xc020u);
  BOOST_TEST((world.of_switch().members(0xc025) == std::vector<std::uint8_t>{1, 2}));
  BOOST_TEST(world.of_switch().members(0xc024).empty());
}

BOOST_AUTO_TEST_CASE(lids_above_the_top_have_no_way) {
  World world;
  world.bring_up();
  world.network.forwarded.clear();
  BOOST_REQUIRE(
      world.ask({1}, wire::kMethodSet, wire::kAttributeSwitchInfo, 0, wire::SwitchInfoLayout::emit({.linear_top = 1}))
          .has_value());
  BOOST_TEST((world.network.forwarded == std::set<std::uint32_t>{2, 3}));
  BOOST_TEST((world.of_switch().way_to(1) == 1 && world.of_switch().way_to(3) == kNoPort));
}

BOOST_AUTO_TEST_CASE(lanes_keys_and_arbitration_of_a_port_are_told) {
  World world;
  std::array<std::byte, wire::kSmpDataBytes> table{};
  table[0] = std::byte{0x3f};
  BOOST_REQUIRE(world.ask({1}, wire::kMethodSet, wire::kAttributeSlToVl, 1 << 8 | 2, table).has_value());
  BOOST_TEST((world.network.lanes.size() == 1u && world.network.lanes[0].first == PortEnd{kSwitch, 2} &&
              world.network.lanes[0].second == 1));
  BOOST_TEST((world.of_switch().ports[2].lanes(1)[0] == 3 && world.of_switch().ports[2].lanes(1)[1] == 15));
  BOOST_TEST((world.of_switch().ports[2].lanes(3)[9] == 1));  // none was set: in turn
  BOOST_REQUIRE(world.ask({1}, wire::kMethodSet, wire::kAttributeVlArbitration, 1 << 16 | 2, kNothing).has_value());
  BOOST_TEST((world.network.arbitrated == std::vector<PortEnd>{{kSwitch, 2}}));
  BOOST_REQUIRE(world.ask({1, 2}, wire::kMethodSet, wire::kAttributePkeyTable, 0, kNothing).has_value());
  BOOST_TEST((world.network.keyed == std::vector<PortEnd>{{2, 1}}));

  wire::PortInfo info = world.port_info({1}, 2);
  info.operational_vls = 1;
  info.client_reregister = true;
  info.state = wire::PortState::no_change;
  info.physical_state = wire::PortPhysicalState::no_change;
  BOOST_REQUIRE(world.set_port({1}, 2, info) == 0);
  BOOST_TEST((world.network.reregistered && world.network.lanes.back().second == kNoPort));
  BOOST_TEST((world.of_switch().ports[2].lanes(1)[0] == 15 && world.of_switch().ports[2].lanes(3)[9] == 0));
}

BOOST_AUTO_TEST_CASE(a_cable_without_a_signal_is_down_at_both_ends) {
  World world;
  world.bring_up();
  world.subnet.set_link({2, 1}, false);
  BOOST_TEST((world.of_switch().ports[2].info.state == wire::PortState::down));
  BOOST_TEST((world.subnet.nodes()[2].ports[1].info.physical_state == wire::PortPhysicalState::polling));
  BOOST_TEST(world.of_switch().ports[2].totals.link_downed == 1u);
  BOOST_TEST(world.traps() == 1u);
  BOOST_TEST(!world.ask({1, 2}, wire::kMethodGet, wire::kAttributeNodeInfo).has_value());
  // What a manager sets does not bring it up.
  wire::PortInfo info = world.port_info({1}, 2);
  info.physical_state = wire::PortPhysicalState::polling;
  info.state = wire::PortState::no_change;
  BOOST_TEST(world.set_port({1}, 2, info) == 0);
  BOOST_TEST((world.port_info({1}, 2).state == wire::PortState::down));
  world.subnet.set_link({kSwitch, 2}, true);
  BOOST_TEST((world.port_info({1}, 2).state == wire::PortState::init));
  BOOST_TEST(world.ask({1, 2}, wire::kMethodGet, wire::kAttributeNodeInfo).has_value());
}

BOOST_AUTO_TEST_CASE(a_disabled_port_stays_down_when_its_cable_comes_back) {
  World world;
  wire::PortInfo info = world.port_info({1}, 2);
  info.physical_state = wire::PortPhysicalState::disabled;
  info.state = wire::PortState::no_change;
  BOOST_REQUIRE(world.set_port({1}, 2, info) == 0);
  world.subnet.set_link({kSwitch, 2}, false);
  world.subnet.set_link({kSwitch, 2}, true);
  BOOST_TEST((world.port_info({1}, 2).physical_state == wire::PortPhysicalState::disabled));
}

BOOST_AUTO_TEST_CASE(a_dead_switch_comes_back_with_empty_tables) {
  World world;
  world.bring_up();
  world.subnet.set_node_alive(kSwitch, false);
  BOOST_TEST(!world.ask({1}, wire::kMethodGet, wire::kAttributeNodeInfo).has_value());
  BOOST_TEST((world.port_info({}, 1).state == wire::PortState::down));
  world.subnet.set_node_alive(kSwitch, true);
  BOOST_TEST((world.network.restarted == std::vector<std::size_t>{kSwitch}));
  BOOST_TEST(
      (world.port_info({}, 1).state == wire::PortState::init && world.port_info({}, 1).base_lid == wire::Lid(1)));
  BOOST_TEST((world.port_info({1}, 0).base_lid == wire::kLidNone && world.of_switch().way_to(3) == kNoPort));
  BOOST_TEST((world.port_info({1}, 2).state == wire::PortState::init));
}

BOOST_AUTO_TEST_CASE(a_dead_cable_stays_dead_over_a_switchs_death) {
  World world;
  world.subnet.set_link({kSwitch, 2}, false);
  world.subnet.set_node_alive(kSwitch, false);
  world.subnet.set_node_alive(kSwitch, true);
  BOOST_TEST((world.port_info({1}, 1).state == wire::PortState::init));
  BOOST_TEST((world.port_info({1}, 2).state == wire::PortState::down));
}

BOOST_AUTO_TEST_CASE(details_of_errors_and_discards_can_be_read_and_cleared) {
  World world;
  world.bring_up();
  world.network.data.local_physical_errors = 3;
  world.network.data.looping_errors = 70000;
  world.network.data.neighbor_mtu_discards = 4;
  world.network.data.head_of_queue_discards = 5;
  const auto errors = [&](std::uint8_t method, const wire::PortReceiveErrorDetails& asked) {
    return world.performance<wire::PortReceiveErrorDetailsLayout>(wire::kAttributePortReceiveErrorDetails, method,
                                                                  asked);
  };
  const auto discards = [&](std::uint8_t method, const wire::PortTransmitDiscardDetails& asked) {
    return world.performance<wire::PortTransmitDiscardDetailsLayout>(wire::kAttributePortTransmitDiscardDetails, method,
                                                                     asked);
  };
  const auto error = errors(wire::kMethodGet, {.port = 1});
  BOOST_TEST((error.port == 1 && error.local_physical_errors == 3 && error.lid_mapping_errors == 0));
  BOOST_TEST(error.looping_errors == 65535);  // it stops there
  const auto left = errors(wire::kMethodSet, {.port = 1, .select = 1 << 5});
  BOOST_TEST((left.local_physical_errors == 3 && left.looping_errors == 0));
  const auto discard = discards(wire::kMethodGet, {.port = 1});
  BOOST_TEST((discard.neighbor_mtu_discards == 4 && discard.head_of_queue_discards == 5));
  BOOST_TEST((discard.inactive_discards == 0 && discard.switch_life_discards == 0));
  const auto none = discards(wire::kMethodSet, {.port = 1, .select = 0xf});
  BOOST_TEST((none.neighbor_mtu_discards == 0 && none.head_of_queue_discards == 0));
}

BOOST_AUTO_TEST_CASE(counters_have_the_data_and_can_be_cleared) {
  World world;
  world.bring_up();
  const std::uint32_t management = world.counters(wire::kMethodGet, {.port = 1}).transmit_packets;
  world.network.data.transmit_packets = 1000;
  world.network.data.transmit_wait = 77;
  world.network.data.symbol_errors = 5;
  wire::PortCounters now = world.counters(wire::kMethodGet, {.port = 1});
  BOOST_TEST(now.transmit_packets >= management + 1000);
  BOOST_TEST((now.transmit_wait == 77u && now.symbol_errors == 5));
  constexpr std::uint16_t kTransmitPackets = 1 << 14;
  now = world.counters(wire::kMethodSet, {.port = 1, .select = kTransmitPackets, .select2 = 1});
  BOOST_TEST((now.transmit_packets == 0u && now.transmit_wait == 0u && now.symbol_errors == 5));
  world.network.data.transmit_packets += 10;
  world.network.data.transmit_wait += 1;
  now = world.counters(wire::kMethodGet, {.port = 1});
  BOOST_TEST((now.transmit_packets >= 10u && now.transmit_packets < 20u && now.transmit_wait == 1u));
}
