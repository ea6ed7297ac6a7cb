// What a device is: that of the first one is as it has always been, those after it differ from it in all that must.
#include "emulator/host/node/identity.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <string_view>

namespace {
using namespace verbena;
using namespace verbena::host;

constexpr wire::Gid kNode = node_address(7);

template <class Value, class Of>
std::size_t different(Of of, std::uint32_t devices = kDevicesMax) {
  std::set<Value> seen;
  for (std::uint32_t device = 0; device < devices; ++device) seen.insert(of(device_of(kNode, {device, 1})));
  return seen.size();
}
std::string text(std::string_view view) {
  return std::string(view);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(identity)

// Constants of which each stands in captures, scripts and other people's notes.
BOOST_AUTO_TEST_CASE(the_first_device_is_what_it_has_always_been) {
  const DeviceIdentity device = device_of(kNode, {});
  BOOST_TEST((device.number == DeviceNumber{0, 1}));
  BOOST_TEST((device.address == wire::Gid::from_ipv4(0x7f2f5b07)));
  BOOST_TEST((device.mac == wire::MacAddress{{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x07}}));
  const Guid guid{0x00, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 0x07};
  BOOST_TEST((device.node_guid == guid));
  BOOST_TEST(number_of(Guid{1, 2, 3, 4, 5, 6, 7, 8}) == 0x0102'0304'0506'0708);
  BOOST_TEST((device.system_image_guid == guid));
  BOOST_TEST((device.port_guid == guid));
  BOOST_TEST(device.gid_count() == 2u);
  BOOST_TEST((device.gids[0].gid == device.address));
  BOOST_TEST(
      (device.gids[1].gid == wire::Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 7}}));
  BOOST_TEST(device.name.view() == "verbena0");
  BOOST_TEST(device.file_name.view() == "uverbs0");
  BOOST_TEST(device.interface.view() == "verbena0");
  BOOST_REQUIRE(device.own_interface != nullptr);
  BOOST_TEST(device.own_interface->index == 0x56420000u);
  BOOST_TEST(device.pci_address.view() == "5642:00:00.0");
  BOOST_TEST(device.numa_node == -1);
  BOOST_TEST(device.bits_per_second == 100'000'000'000u);
}

BOOST_AUTO_TEST_CASE(no_two_devices_share_what_tells_them_apart) {
  using Identity = const DeviceIdentity&;
  BOOST_TEST(different<wire::Gid>([](Identity it) { return it.address; }) == kDevicesMax);
  BOOST_TEST(different<wire::Gid>([](Identity it) { return it.gids[0].gid; }) == kDevicesMax);
  BOOST_TEST(different<wire::Gid>([](Identity it) { return it.gids[1].gid; }) == kDevicesMax);
  BOOST_TEST(different<wire::MacAddress>([](Identity it) { return it.mac; }) == kDevicesMax);
  BOOST_TEST(different<Guid>([](Identity it) { return it.node_guid; }) == kDevicesMax);
  BOOST_TEST(different<Guid>([](Identity it) { return it.system_image_guid; }) == kDevicesMax);
  BOOST_TEST(different<Guid>([](Identity it) { return it.port_guid; }) == kDevicesMax);
  BOOST_TEST(different<std::string>([](Identity it) { return text(it.name.view()); }) == kDevicesMax);
  BOOST_TEST(different<std::string>([](Identity it) { return text(it.file_name.view()); }) == kDevicesMax);
  BOOST_TEST(different<std::string>([](Identity it) { return text(it.interface.view()); }) == kDevicesMax);
  BOOST_TEST(different<std::string>([](Identity it) { return text(it.pci_address.view()); }) == kDevicesMax);
  BOOST_TEST(different<std::uint32_t>([](Identity it) { return it.own_interface->index; }) == kDevicesMax);
}

BOOST_AUTO_TEST_CASE(a_device_is_found_by_its_address) {
  for (std::uint32_t node = 1; node <= kNodesMax; ++node)
    for (std::uint32_t device = 0; device < kDevicesMax; ++device) {
      const auto place = device_place(device_address(node_address(node), {device}));
      BOOST_TEST_REQUIRE(place.has_value());
      BOOST_TEST(place->node == node);
      BOOST_TEST(place->device == device);
    }
  for (const std::uint32_t other : {0x7f2f5a01u, 0x7f2f6b01u, 0x7f2f5b00u, 0x7f2f5bffu, 0x7f305b01u, 0x0a000001u})
    BOOST_TEST(!device_place(wire::Gid::from_ipv4(other)).has_value());
  BOOST_TEST(!device_place(*link_local_of(node_address(1))).has_value());
}

BOOST_AUTO_TEST_CASE(devices_1_to_3_are_the_same_ones_each_time) {
  struct Row {
    std::uint32_t device, address;
    std::string_view name, file, interface, bus;
  };
  constexpr std::array kRows{Row{1, 0x7f2f5c07, "verbena1", "uverbs1", "verbena1", "5642:00:01.0"},
                             Row{2, 0x7f2f5d07, "verbena2", "uverbs2", "verbena2", "5642:00:02.0"},
                             Row{3, 0x7f2f5e07, "verbena3", "uverbs3", "verbena3", "5642:00:03.0"}};
  for (const Row& row : kRows) {
    const DeviceIdentity device = device_of(kNode, {row.device, 1});
    BOOST_TEST((device.address == wire::Gid::from_ipv4(row.address)));
    BOOST_TEST((device.mac == node_mac(device.address)));
    BOOST_TEST((device.node_guid == guid_of(device.mac)));
    BOOST_TEST((device.gids[1].gid == link_local_of(device.address)));
    BOOST_TEST((node_of(device.gids[1].gid) == device.address));
    BOOST_TEST(device.name.view() == row.name);
    BOOST_TEST(device.file_name.view() == row.file);
    BOOST_TEST(device.interface.view() == row.interface);
    BOOST_TEST(device.pci_address.view() == row.bus);
  }
  BOOST_TEST(device_of(kNode, {15, 1}).pci_address.view() == "5642:00:0f.0");
}

BOOST_AUTO_TEST_CASE(an_address_tells_in_whose_network_it_is) {
  for (std::uint32_t device = 0; device < kDevicesMax; ++device)
    for (std::uint32_t port = 1; port <= kPortsMax; ++port)
      BOOST_CHECK((device_network_of(device_address(kNode, {device, port}).ipv4()) == DeviceNumber{device, port}));
  // 127.47.90.7, 127.47.107.7, 127.48.90.7, 127.48.107.7, 127.46.91.7, 127.49.91.7
  for (const std::uint32_t beside : {0x7f2f5a07u, 0x7f2f6b07u, 0x7f305a07u, 0x7f306b07u, 0x7f2e5b07u, 0x7f315b07u})
    BOOST_CHECK(!device_network_of(beside));
}

BOOST_AUTO_TEST_CASE(two_ports_of_a_device_share_what_is_the_devices) {
  const DeviceIdentity one = device_of(kNode, {1, 1});
  const DeviceIdentity two = device_of(kNode, {1, 2});
  BOOST_TEST((one.node_guid == two.node_guid));
  BOOST_TEST((one.system_image_guid == two.system_image_guid));
  BOOST_TEST((one.name == two.name));
  BOOST_TEST((one.file_name == two.file_name));
  BOOST_TEST((one.pci_address == two.pci_address));
  BOOST_TEST((one.port_guid == one.node_guid));
  BOOST_TEST((one.port_guid != two.port_guid));
  BOOST_TEST((one.address != two.address));
  BOOST_TEST((one.mac != two.mac));
  BOOST_TEST((one.gids[0] != two.gids[0]));
  BOOST_TEST((one.gids[1] != two.gids[1]));
  BOOST_TEST(!(one.interface == two.interface));
  BOOST_TEST(one.own_interface->index != two.own_interface->index);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_given_is_that_of_the_first_device) {
  const auto name = [](std::string_view first, std::uint32_t device) {
    return text(device_of(kNode, {device, 1}, {.name = first}).name.view());
  };
  BOOST_TEST(name("mlx5_0", 0) == "mlx5_0");
  BOOST_TEST(name("mlx5_0", 3) == "mlx5_3");
  BOOST_TEST(name("mlx5_9", 1) == "mlx5_10");
  BOOST_TEST(name("mlx5_009", 15) == "mlx5_024");
  BOOST_TEST(name("mlx5_99999999999", 0) == "mlx5_99999999999");
  BOOST_TEST(name("mlx5_99999999999", 1) == "mlx5_100000000000");
  BOOST_TEST(name("mlx5_4294967295", 2) == "mlx5_4294967297");
  BOOST_TEST(name("99999999999999999999", 15) == "100000000000000000014");
  const std::string nines(kDeviceNameBytesMax, '9');
  BOOST_TEST(device_names_fit(nines, 1));
  BOOST_TEST(!device_names_fit(nines, 2));
  BOOST_TEST(device_names_fit(nines.substr(0, nines.size() - 1) + "0", 10));
  BOOST_TEST(name("rail", 2) == "rail2");
  BOOST_TEST(name("007", 0) == "007");
}

BOOST_AUTO_TEST_CASE(a_name_fits_if_that_of_each_device_does) {
  const std::string long_name(63, 'a');
  BOOST_TEST(device_names_fit(long_name, 1));
  BOOST_TEST(!device_names_fit(long_name, 2));
  BOOST_TEST(!device_names_fit(long_name + 'a', 1));
  const std::string up_to_nine = long_name.substr(1) + "0";
  BOOST_TEST(device_names_fit(up_to_nine, 10));
  BOOST_TEST(!device_names_fit(up_to_nine, 11));
  BOOST_TEST(device_names_fit(long_name.substr(2) + "%d", 16));
}

BOOST_AUTO_TEST_CASE(networks_and_addresses_of_ports_are_told_from_others) {
  const auto address = [](std::uint32_t number) { return wire::Gid::from_ipv4(number); };
  BOOST_TEST((device_network_of(address(0x7f2f5b07)) == DeviceNumber{0, 1}));
  BOOST_TEST((device_network_of(address(0x7f2f5c00)) == DeviceNumber{1, 1}));
  BOOST_TEST((device_network_of(address(0x7f305cff)) == DeviceNumber{1, 2}));
  // Before the first network, behind the last, and of another family.
  for (const std::uint32_t other : {0x7f2f5a07u, 0x7f2f6b07u, 0x7f315b07u, 0x0a2f5b07u})
    BOOST_TEST(!device_network_of(address(other)));
  BOOST_TEST(!device_network_of(wire::Gid{{0xfe, 0x80}}));
  BOOST_TEST(is_port_address(address(0x7f2f5c07)));
  for (const std::uint32_t other : {0x7f2f5c00u, 0x7f2f5cffu, 0x0a2f5b07u})
    BOOST_TEST(!is_port_address(address(other)));
}

BOOST_AUTO_TEST_CASE(an_address_of_the_machine_has_no_interface_of_its_own) {
  const wire::Gid address = wire::Gid::from_ipv4(0xc0a80107);
  const DeviceIdentity device = device_at(address, {});
  BOOST_TEST(device.own_interface == nullptr);
  BOOST_TEST(device.interface.empty());
  BOOST_TEST((device.gids[0].gid == address));
  // An address of another device's network is any address, where a process stands on it.
  BOOST_TEST(device_at(wire::Gid::from_ipv4(0x7f2f5c07), {}).own_interface == nullptr);
}

BOOST_AUTO_TEST_CASE(the_link_may_name_the_interface_and_have_one_gid_alone) {
  const DeviceIdentity device =
      device_at(kNode, {}, {.interface = "eth0", .has_link_local = false, .bits_per_second = 25'000'000'000});
  BOOST_TEST(device.own_interface == nullptr);
  BOOST_TEST(device.interface.view() == "eth0");
  BOOST_TEST(device.gid_count() == 1u);
  BOOST_TEST(device.bits_per_second == 25'000'000'000u);
}

BOOST_AUTO_TEST_CASE(a_text_that_does_not_fit_is_cut_off) {
  FixedText<4> short_text;
  short_text.append("abcdef").append_number(1);
  BOOST_TEST(short_text.view() == "abc");
  FixedText<16> number;
  number.append_number(0).append("-").append_number(4'294'967'295);
  BOOST_TEST(number.view() == "0-4294967295");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(gid_table_has_the_versions_of_the_wire) {
  const auto table = [](std::string_view wire, bool has_link_local = true) {
    const DeviceIdentity device =
        device_at(kNode, {}, {.has_link_local = has_link_local, .wire = *wire::find_wire_kind(wire)});
    std::string text;
    for (std::size_t i = 0; i < device.gid_count(); ++i)
      text += std::string(device.gids[i].gid == kNode ? "address" : "link-local") +
              (device.gids[i].version == wire::RoceVersion::v1 ? "/v1 " : "/v2 ");
    return text;
  };
  BOOST_TEST(table("roce-v2") == "address/v2 link-local/v2 ");
  BOOST_TEST(table("roce-v1") == "address/v1 link-local/v1 ");
  BOOST_TEST(table("roce") == "link-local/v1 link-local/v2 address/v1 address/v2 ");
  BOOST_TEST(table("roce", false) == "address/v1 address/v2 ");
  const DeviceIdentity device = device_at(kNode, {}, {.wire = *wire::find_wire_kind("roce")});
  BOOST_TEST((device.gid_index({kNode, wire::RoceVersion::v1}) == std::optional<std::size_t>(2)));
  BOOST_TEST(!device.gid_index({node_address(9), wire::RoceVersion::v1}));
}
