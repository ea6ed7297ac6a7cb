// A managed fabric as its agents see it, and the fabric that a file of a subnet describes.
#include "emulator/host/fabric_process/subnet_topology.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/rails.h"
#include "emulator/host/node/identity.h"

using namespace verbena;
using namespace verbena::host;

namespace {

constexpr std::string_view kFile = R"(Switch 36 "S-0002c90300000001"   # "leaf"
[1] "H-1"[1]   # 4xHDR
[2] "H-1"[2]   # 4xEDR
[7] "S2"[36]   # 12xQDR
Switch 36 "S2"
[3] "h 3"[1]
Ca 2 "H-1"
Ca 1 "h 3"
)";

FabricOfSubnet read(std::string_view text) {
  const auto subnet = subnet::read_topology(text, "a.net");
  BOOST_REQUIRE(subnet.ok());
  const auto made = fabric_of(*subnet, {});
  BOOST_REQUIRE_MESSAGE(made.ok(), (made ? "" : made.error()));
  return *made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(agents_have_the_guids_of_the_devices) {
  const auto made = subnet_of(fabric::star(3, {}), {});
  BOOST_REQUIRE(made.nodes.size() == 4u);
  const DeviceIdentity second = device_of(node_address(2), {});
  const subnet::NodePlan& host = made.nodes[1];
  BOOST_TEST((host.type == wire::NodeType::channel_adapter && host.description == "n2 verbena0"));
  BOOST_TEST((host.guid == number_of(second.node_guid) && host.port_guid(1) == number_of(second.port_guid)));
  BOOST_TEST((host.ports.size() == 2u && host.ports[1].peer == subnet::PortEnd{3, 2}));
  BOOST_TEST((host.ports[1].speed_extended == 2 && host.ports[1].width == 2));  // 100 Gbps
  BOOST_TEST((made.nodes[3].type == wire::NodeType::switch_ && made.nodes[3].port_count() == 3));
  BOOST_TEST(made.nodes[3].ports[2].peer.has_value());
}

BOOST_AUTO_TEST_CASE(each_rail_is_an_adapter_of_its_own) {
  const auto topology = fabric::with_rails(fabric::star(2, {}), {.rails = 2});
  BOOST_REQUIRE(topology.ok());
  const auto made = subnet_of(*topology, {});
  BOOST_TEST(made.nodes[3].guid == number_of(device_of(node_address(2), {1}).node_guid));
  BOOST_TEST(made.nodes[3].description == "n2 verbena1");
  BOOST_TEST(made.nodes[4].guid != made.nodes[5].guid);
}

BOOST_AUTO_TEST_CASE(a_link_has_the_nearest_rate) {
  const auto speed = [](std::uint64_t rate) {
    const fabric::CableParameters cable{.rate_bits_per_second = rate};
    const auto port = subnet_of(fabric::star(2, {cable, cable}), {}).nodes[0].ports[1];
    return std::pair<unsigned, unsigned>(port.speed, port.speed_extended);
  };
  constexpr std::uint64_t kGiga = 1'000'000'000;
  BOOST_TEST((speed(1 * kGiga) == std::pair(1u, 0u) && speed(40 * kGiga) == std::pair(4u, 0u)));
  BOOST_TEST((speed(54 * kGiga) == std::pair(4u, 1u) && speed(190 * kGiga) == std::pair(4u, 4u)));
  BOOST_TEST((speed(800 * kGiga) == std::pair(4u, 8u)));
}

BOOST_AUTO_TEST_CASE(a_file_becomes_a_fabric_and_its_subnet_again) {
  const FabricOfSubnet made = read(kFile);
  const fabric::Topology& topology = made.topology;
  BOOST_REQUIRE(topology.hosts == 3u);
  BOOST_REQUIRE(topology.vertices.size() == 5u);
  BOOST_TEST((topology.vertices[0].name == "H_1.1" && topology.vertices[1].name == "H_1.2"));
  BOOST_TEST((topology.vertices[2].name == "h_3" && topology.vertices[3].name == "S_0002c90300000001"));
  const auto cable = topology.cable_at(3, 7);
  BOOST_REQUIRE(cable.has_value());
  BOOST_TEST(topology.port_of(*cable, 4) == 36u);
  BOOST_TEST(topology.cables[*cable].parameters.rate_bits_per_second == 120'000'000'000u);
  BOOST_TEST(topology.cables[*topology.cable_at(0, 1)].parameters.rate_bits_per_second == 200'000'000'000u);

  const auto subnet = subnet_of(topology, made.switches);
  BOOST_TEST((subnet.nodes[3].guid == 0x0002c90300000001u && subnet.nodes[3].description == "leaf"));
  BOOST_TEST((subnet.nodes[3].port_count() == 36 && subnet.nodes[3].ports[7].peer == subnet::PortEnd{4, 36}));
  BOOST_TEST((subnet.nodes[1].ports[1].peer == subnet::PortEnd{3, 2}));
}

BOOST_AUTO_TEST_CASE(a_cable_has_the_lower_mtu_of_its_ends) {
  const FabricOfSubnet made =
      read("Switch 4 \"s\"\n[1] \"a\"[1] mtu=2048\n[2] \"b\"[1]\nHca 1 \"a\"\n[1] \"s\"[1] mtu=1024\nHca 1 \"b\"\n");
  BOOST_TEST(made.topology.cables[*made.topology.cable_at(0, 1)].parameters.mtu_bytes == 1024u);
  const auto subnet = subnet_of(made.topology, made.switches);
  BOOST_TEST((subnet.nodes[0].ports[1].mtu == 3 && subnet.nodes[2].ports[1].mtu == 3));
  BOOST_TEST((subnet.nodes[1].ports[1].mtu == 5 && subnet.nodes[2].ports[2].mtu == 5));
}

BOOST_AUTO_TEST_CASE(ids_that_would_be_one_name_are_numbered) {
  const FabricOfSubnet made = read("Switch 4 \"s 1\"\n[1] \"a b\"[1]\n[2] \"a_b\"[1]\nHca 1 \"a b\"\nHca 1 \"a_b\"\n");
  BOOST_TEST((made.topology.vertices[0].name == "a_b" && made.topology.vertices[1].name == "n2"));
}

BOOST_AUTO_TEST_CASE(a_router_is_no_part_of_a_fabric) {
  const auto subnet = subnet::read_topology("Rt 1 \"r\"\n[1] \"a\"[1]\nHca 1 \"a\"\n", "a.net");
  BOOST_REQUIRE(subnet.ok());
  const auto made = fabric_of(*subnet, {});
  BOOST_TEST(!made.ok());
}
