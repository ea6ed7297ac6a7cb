// A managed fabric: what a manager sets is there for the nodes, and what dies in the network dies for the agents.
#include "emulator/host/fabric_process/subnet_service.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/qos.h"
#include "emulator/host/node/managed_port.h"
#include "emulator/host/node/port_speed.h"
#include "tests/host/fabric_process/plugged_in.h"
#include "tests/host/fabric_process/umad_program.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::wait_until;

namespace {

constexpr std::uint8_t kDown = 1;
constexpr std::uint8_t kInit = 2;
constexpr std::uint8_t kActive = 4;

fabric::Topology managed(fabric::Topology topology) {
  topology.medium = wire::Medium::infiniband;
  topology.qos = fabric::infiniband_qos();
  topology.is_managed = true;
  BOOST_REQUIRE(fabric::check(topology).ok());
  return topology;
}

ManagedPort port_of(const Served& fabric, std::uint32_t node) {
  const auto port = read_managed_port(fabric.name, node_address(node));
  BOOST_REQUIRE(port.has_value());
  return *port;
}
bool has_state(const Served& fabric, std::uint32_t node, std::uint8_t state) {
  return wait_until([&] { return port_of(fabric, node).state == state; });
}

struct Manager : UmadProgram {
  explicit Manager(const Served& fabric) : UmadProgram(fabric.name, 0) {
    BOOST_REQUIRE(register_agent(0, wire::kClassSubnetDirected) == 0);
  }
  void activate(const std::vector<std::uint8_t>& path, std::uint32_t port) {
    for (const wire::PortState state : {wire::PortState::armed, wire::PortState::active})
      set_port(path, port, [&](wire::PortInfo& info) { info.state = state; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(ports_wait_for_a_manager) {
  const Served fabric(managed(fabric::star(2, {})));
  const ManagedPort port = port_of(fabric, 2);
  BOOST_TEST((port.state == kInit && port.base_lid == 0 && port.sm_lid == 0));
  BOOST_TEST((port.pkeys[0] == 0xffff && port.pkeys[1] == 0 && port.lane_of_level[9] == 1));
  BOOST_TEST(rate_text(port.width, port.speed).view() == "100 Gb/sec (4X EDR)");
}

BOOST_AUTO_TEST_CASE(what_a_manager_sets_is_there_for_the_node) {
  const Served fabric(managed(fabric::star(2, {})));
  Uplink two(fabric, 2);
  Manager manager(fabric);
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) {
    info.base_lid = wire::Lid(7);
    info.lmc = 1;
    info.master_sm_lid = wire::Lid(1);
    info.client_reregister = true;
  });
  manager.activate({1, 2}, 1);
  BOOST_TEST(has_state(fabric, 2, kActive));
  const ManagedPort port = port_of(fabric, 2);
  BOOST_TEST((port.base_lid == 7 && port.lmc == 1 && port.sm_lid == 1));
  BOOST_TEST((port.lid_changes == 1 && port.sm_changes == 1 && port.reregisters == 1 && port.pkey_changes == 0));
  BOOST_TEST(port_of(fabric, 1).base_lid == 0);
  BOOST_TEST(wait_until([&] {
    two.link->service();
    return two.link->take_notice() == Notice::subnet_changed;
  }));
}

BOOST_AUTO_TEST_CASE(a_cables_mtu_is_what_its_ports_can_do) {
  const Served fabric(managed(fabric::star(2, {.host_cable = {.mtu_bytes = 2048}})));
  BOOST_TEST((port_of(fabric, 2).mtu_max == 4 && port_of(fabric, 2).mtu == 4));
  Manager manager(fabric);
  const auto at_switch = manager.get<wire::PortInfoLayout>({1}, wire::kAttributePortInfo, 2);
  BOOST_TEST((at_switch.mtu_capacity == 4 && at_switch.neighbor_mtu == 4));
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) { info.neighbor_mtu = 3; });
  BOOST_TEST(wait_until([&] { return port_of(fabric, 2).mtu == 3; }));
  BOOST_TEST(port_of(fabric, 2).mtu_max == 4);
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) { info.neighbor_mtu = 5; });
  BOOST_TEST(wait_until([&] { return port_of(fabric, 2).mtu == 4; }));
}

BOOST_AUTO_TEST_CASE(who_asks_the_fabric_sees_what_a_manager_has_set) {
  const Served fabric(managed(fabric::star(2, {})));
  Manager manager(fabric);
  const auto node = [&](std::size_t index) { return fabric.stat().at("nodes").at(index); };
  BOOST_TEST(fabric.stat().at("managed") == true);
  BOOST_TEST((node(1).at("lid") == 0 && node(1).at("sm_lid") == 0 && node(1).at("state") == "INIT"));
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) {
    info.base_lid = wire::Lid(8);
    info.lmc = 2;
    info.master_sm_lid = wire::Lid(1);
  });
  BOOST_TEST(wait_until([&] { return node(1).at("lid") == 8; }));
  BOOST_TEST((node(1).at("lmc") == 2 && node(1).at("sm_lid") == 1 && node(1).at("state") == "INIT"));
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) { info.state = wire::PortState::armed; });
  BOOST_TEST(wait_until([&] { return node(1).at("state") == "ARMED"; }));
  manager.set_port({1, 2}, 1, [](wire::PortInfo& info) { info.state = wire::PortState::active; });
  BOOST_TEST(wait_until([&] { return node(1).at("state") == "ACTIVE"; }));
  BOOST_TEST((node(0).at("lid") == 0 && node(0).at("state") == "INIT"));
  const auto one = [&] { return fabric.stat().at("switches").at(0); };
  BOOST_TEST((one().at("name") == "s1" && one().at("lid") == 0 && one().at("sm_lid") == 0));
  manager.set_port({1}, 0, [](wire::PortInfo& info) {
    info.base_lid = wire::Lid(6);
    info.master_sm_lid = wire::Lid(1);
  });
  BOOST_TEST(wait_until([&] { return one().at("lid") == 6; }));
  BOOST_TEST(one().at("sm_lid") == 1);
  BOOST_TEST(fabric.ask({"link-down", "n2-s1"}) == "");
  BOOST_TEST(wait_until([&] { return node(1).at("state") == "DOWN"; }));
}

BOOST_AUTO_TEST_CASE(a_cable_that_dies_is_down_for_the_agents) {
  const Served fabric(managed(fabric::star(2, {})));
  Manager manager(fabric);
  const auto state_at_switch = [&] {
    return manager.get<wire::PortInfoLayout>({1}, wire::kAttributePortInfo, 2).state;
  };
  manager.activate({1}, 2);
  BOOST_TEST((state_at_switch() == wire::PortState::active));
  BOOST_TEST(fabric.ask({"link-down", "n2-s1"}) == "");
  BOOST_TEST(has_state(fabric, 2, kDown));
  BOOST_TEST((state_at_switch() == wire::PortState::down));
  BOOST_TEST(!manager.ask({1, 2}, wire::kMethodGet, wire::kAttributeNodeInfo, 0).has_value());
  BOOST_TEST(fabric.ask({"link-up", "n2-s1"}) == "");
  BOOST_TEST(has_state(fabric, 2, kInit));
  BOOST_TEST((state_at_switch() == wire::PortState::init));
}

BOOST_AUTO_TEST_CASE(a_switch_that_dies_comes_back_with_nothing) {
  const Served fabric(managed(fabric::star(2, {})));
  Manager manager(fabric);
  std::array<std::byte, wire::kSmpDataBytes> table{};
  BOOST_REQUIRE(manager.ask({1}, wire::kMethodSet, wire::kAttributeLinearForwarding, 0, table).has_value());
  BOOST_TEST(fabric.ask({"switch-crash", "s1"}) == "");
  BOOST_TEST((has_state(fabric, 1, kDown) && has_state(fabric, 2, kDown)));
  BOOST_TEST(fabric.ask({"switch-restart", "s1"}) == "");
  BOOST_TEST((has_state(fabric, 1, kInit) && has_state(fabric, 2, kInit)));
  const auto after = manager.ask({1}, wire::kMethodGet, wire::kAttributeLinearForwarding, 0);
  BOOST_REQUIRE(after.has_value());
  BOOST_TEST((subnet::Smp(*after).data()[0] == std::byte{subnet::kNoPort}));
}

BOOST_AUTO_TEST_CASE(a_method_of_a_class_is_one_agents_at_a_port) {
  const Served fabric(managed(fabric::star(2, {})));
  UmadProgram nobody(fabric.name, 1);
  BOOST_TEST(nobody.register_agent(7, wire::kClassSubnetDirected) == EINVAL);
  BOOST_TEST(nobody.register_agent(0, wire::kClassSubnetDirected) == 0);
}

BOOST_AUTO_TEST_CASE(a_manager_shows_on_its_port_while_it_is_there) {
  constexpr std::uint32_t kIsSm = wire::kCapabilityIsSm;
  const Served fabric(managed(fabric::star(2, {})));
  {
    const UmadProgram issm(fabric.name, 1, true);
    BOOST_TEST(wait_until([&] { return (port_of(fabric, 2).capability_mask & kIsSm) != 0; }));
    BOOST_TEST((port_of(fabric, 1).capability_mask & kIsSm) == 0u);
  }
  BOOST_TEST(wait_until([&] { return (port_of(fabric, 2).capability_mask & kIsSm) == 0; }));
}

BOOST_AUTO_TEST_CASE(a_fabric_without_a_manager_has_no_managed_ports) {
  std::string name;
  {
    Served fabric(managed(fabric::star(2, {})));
    name = fabric.name;
    fabric.end();
  }
  BOOST_TEST(!read_managed_port(name, node_address(1)).has_value());
  const Served fabric(fabric::star(2, {}), milliseconds(1), name);
  BOOST_TEST(!read_managed_port(name, node_address(1)).has_value());
}
