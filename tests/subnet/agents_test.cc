// The agents of a small subnet, and the ways to them: a manager's first steps, by hand.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>

#include "emulator/subnet/smp.h"
#include "emulator/subnet/subnet.h"

using namespace verbena;
using namespace verbena::subnet;

namespace {

constexpr std::string_view kTopology = R"(Hca 1 "a"
[1] "s"[1]
Switch 4 "s"
[1] "a"[1]
[2] "b"[1]
Hca 1 "b"
[1] "s"[2]
)";
constexpr PortEnd kA{0, 1};
constexpr PortEnd kB{2, 1};

class World : public Receiver {
 public:
  World() : subnet(*read_topology(kTopology, "x"), *this) {}
  void receive(PortEnd at, const Datagram& datagram) override { got.push_back({at, datagram}); }
  void changed(PortEnd) override {}

  /// The answer to a directed route from "a"; nothing: there was none.
  std::optional<Datagram> ask(std::vector<std::uint8_t> path, std::uint8_t method, std::uint16_t attribute,
                              std::uint32_t modifier = 0, std::span<const std::byte> data = {}, std::uint64_t key = 0) {
    Datagram datagram = made(wire::kClassSubnetDirected, method, attribute, modifier, data, key);
    datagram.source = datagram.destination = wire::kLidPermissive;
    datagram.octets[7] = static_cast<std::byte>(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) datagram.octets[wire::kSmpInitialPathAt + 1 + i] = std::byte{path[i]};
    for (std::size_t i = 32; i < 36; ++i) datagram.octets[i] = std::byte{0xff};
    return exchanged(datagram);
  }
  std::optional<Datagram> ask_lid(wire::Lid lid, std::uint8_t management_class, std::uint16_t attribute,
                                  std::span<const std::byte> data = {}) {
    Datagram datagram = made(management_class, wire::kMethodGet, attribute, 0, {}, 0);
    std::ranges::copy(data, datagram.octets.begin() + wire::kPerformanceDataAt);
    datagram.source = subnet.nodes()[0].ports[1].info.base_lid;
    datagram.destination = lid;
    datagram.destination_qp = datagram.source_qp = wire::Qpn(management_class == wire::kClassPerformance ? 1 : 0);
    return exchanged(datagram);
  }
  wire::PortInfo port_info(std::vector<std::uint8_t> path, std::uint32_t port) {
    const auto answer = ask(std::move(path), wire::kMethodGet, wire::kAttributePortInfo, port);
    BOOST_REQUIRE(answer.has_value());
    return Smp(answer->octets).read_data<wire::PortInfoLayout>();
  }
  std::uint16_t set_port(std::vector<std::uint8_t> path, std::uint32_t port, const wire::PortInfo& info,
                         std::uint64_t key = 0) {
    const auto answer =
        ask(std::move(path), wire::kMethodSet, wire::kAttributePortInfo, port, wire::PortInfoLayout::emit(info), key);
    return answer ? Smp(answer->octets).header().status & 0x7fff : 0xffff;
  }
  /// What a manager does: LIDs, states, the switch's table.
  void bring_up() {
    const auto raise = [this](std::vector<std::uint8_t> path, std::uint32_t port, std::uint16_t lid) {
      for (const wire::PortState state : {wire::PortState::armed, wire::PortState::active}) {
        wire::PortInfo info = port_info(path, port);
        if (lid != 0) info.base_lid = wire::Lid(lid);
        if (lid != 0) info.master_sm_lid = wire::Lid(1);
        info.state = port == 0 ? wire::PortState::no_change : state;
        info.physical_state = wire::PortPhysicalState::no_change;
        BOOST_REQUIRE(set_port(path, port, info) == 0);
      }
    };
    raise({}, 1, 1);
    raise({1}, 0, 2);
    raise({1}, 1, 0);
    raise({1}, 2, 0);
    raise({1, 2}, 1, 3);
    std::array<std::byte, wire::kSmpDataBytes> table;
    table.fill(std::byte{kNoPort});
    table[1] = std::byte{1};
    table[2] = std::byte{0};
    table[3] = std::byte{2};
    BOOST_REQUIRE(ask({1}, wire::kMethodSet, wire::kAttributeLinearForwarding, 0, table).has_value());
    BOOST_REQUIRE(ask({1}, wire::kMethodSet, wire::kAttributeSwitchInfo, 0,
                      wire::SwitchInfoLayout::emit({.linear_top = 3, .port_state_change = true}))
                      .has_value());
    got.clear();
  }

  struct Got {
    PortEnd at;
    Datagram datagram;
  };
  std::vector<Got> got;
  Subnet subnet;

 private:
  Datagram made(std::uint8_t management_class, std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier,
                std::span<const std::byte> data, std::uint64_t key) {
    Datagram datagram;
    datagram.octets.resize(wire::kMadBytes);
    Smp smp(datagram.octets);
    smp.set_header({.management_class = management_class,
                    .class_version = 1,
                    .method = method,
                    .transaction_id = ++transaction_,
                    .attribute = attribute,
                    .attribute_modifier = modifier});
    for (std::size_t i = 0; i < 8; ++i)
      datagram.octets[wire::kSmpKeyAt + i] = static_cast<std::byte>(key >> (56 - 8 * i));
    std::ranges::copy(data, smp.data().begin());
    return datagram;
  }
  std::optional<Datagram> exchanged(const Datagram& datagram) {
    got.clear();
    subnet.send(kA, datagram);
    for (const Got& one : got)
      if (one.at == kA && Smp(one.datagram.octets).header().transaction_id == transaction_) return one.datagram;
    return std::nullopt;
  }
  std::uint64_t transaction_ = 0;
};

}  // namespace

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
