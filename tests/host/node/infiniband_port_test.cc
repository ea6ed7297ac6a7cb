// What a port on InfiniBand has, with a subnet manager and without one.
#include "emulator/host/node/infiniband_port.h"

#include <boost/test/unit_test.hpp>

#include "emulator/host/node/managed_port_file.h"

using namespace verbena;
using namespace verbena::host;

namespace {

DeviceIdentity port_of(std::uint32_t node) {
  return device_of(node_address(node), {}, {.wire = *wire::find_wire_kind("infiniband")});
}
std::string own_fabric() {
  return "infiniband-" + std::to_string(getpid());
}

}  // namespace

BOOST_AUTO_TEST_CASE(lids_follow_from_the_nodes_number) {
  BOOST_TEST(static_lid(node_address(7)).value() == 7);
  BOOST_TEST(static_lid(device_address(node_address(7), {0, 2})).value() == 0x107);
  BOOST_TEST(static_lid(device_address(node_address(254), {15, 2})).value() == 0x1ffe);
  BOOST_TEST((static_lid(wire::Gid::from_ipv4(0x0a000001)) == wire::kLidNone));
}

BOOST_AUTO_TEST_CASE(each_static_lid_leads_back_to_its_address) {
  for (std::uint32_t device = 0; device < kDevicesMax; ++device)
    for (std::uint32_t port = 1; port <= kPortsMax; ++port)
      for (const std::uint32_t node : {1u, 9u, kNodesMax}) {
        const wire::Gid address = device_address(node_address(node), {device, port});
        BOOST_TEST((node_of(wire::gid_of(static_lid(address))) == address));
      }
  BOOST_TEST((node_of(wire::gid_of(wire::Lid(0x100))) == wire::gid_of(wire::Lid(0x100))));    // node 0
  BOOST_TEST((node_of(wire::gid_of(wire::Lid(0x2001))) == wire::gid_of(wire::Lid(0x2001))));  // port 33
}

BOOST_AUTO_TEST_CASE(the_gid_leads_to_the_address) {
  const DeviceIdentity port = port_of(5);
  BOOST_TEST(port.gid_count() == 1u);
  BOOST_TEST((node_of(port.gids[0].gid) == node_address(5)));
  BOOST_TEST((port.path_address() == wire::PathAddress(wire::Lid(5), 0)));
}

BOOST_AUTO_TEST_CASE(a_group_has_a_multicast_lid) {
  for (const std::uint16_t tail : {std::uint16_t{0}, std::uint16_t{0x3ffe}, std::uint16_t{0xffff}}) {
    wire::Gid group{{0xff, 0x12}};
    group.octets[14] = static_cast<std::uint8_t>(tail >> 8);
    group.octets[15] = static_cast<std::uint8_t>(tail);
    BOOST_TEST(static_group_lid(group).is_multicast());
  }
}

BOOST_AUTO_TEST_CASE(without_a_manager_the_cable_decides) {
  const ManagedPort up = infiniband_port(own_fabric(), port_of(3), true);
  BOOST_TEST((up.state == kPortStateActive && up.physical_state == kPhysicalStateLinkUp && up.base_lid == 3));
  BOOST_TEST(up.sm_lid == kStaticManagerLid.value());
  const ManagedPort down = infiniband_port(own_fabric(), port_of(3), false);
  BOOST_TEST((down.state == kPortStateDown && down.physical_state == kPhysicalStatePolling));
}

BOOST_AUTO_TEST_CASE(with_a_manager_the_port_is_what_it_says) {
  const auto file = ManagedPortFile::make(own_fabric(), 4, 1);
  BOOST_REQUIRE(file.ok());
  BOOST_TEST((lid_of_port(own_fabric(), node_address(3)) == wire::kLidNone));
  ManagedPort set;
  set.base_lid = 77;
  set.state = 2;
  (*file)->write(2, set, false);
  const ManagedPort port = infiniband_port(own_fabric(), port_of(3), true);
  BOOST_TEST((port.base_lid == 77 && port.state == 2));
  BOOST_TEST(lid_of_port(own_fabric(), node_address(3)).value() == 77);
}
