// The devices that a process has by its environment: how many, the address and the interface of each.
#include "emulator/host/config/own_devices.h"

#include <boost/test/unit_test.hpp>
#include <ostream>
#include <string>

#include "emulator/host/config/port_facts.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::host {
std::ostream& operator<<(std::ostream& out, OwnDevices::Kind kind) {
  return out << static_cast<unsigned>(kind);
}
}  // namespace verbena::host

namespace {
using namespace verbena::host;
using Kind = OwnDevices::Kind;

OwnDevices devices(std::string_view count, std::string_view nodes = "", std::string_view links = "") {
  return devices_by(parse_node(list_item(nodes, 0)).value_or(node_address(1)), count, nodes, links);
}

/// "127.47.91.1 127.47.92.1", or the kind of what is wrong and the device.
std::string addresses(const OwnDevices& found) {
  if (found.kind != Kind::known)
    return "wrong " + std::to_string(static_cast<unsigned>(found.kind)) + " " + std::to_string(found.of);
  std::string text;
  for (std::uint32_t i = 0; i < found.port_count(); ++i) text += (i == 0 ? "" : " ") + address_text(found.addresses[i]);
  return text;
}

std::string wrong(Kind kind, std::uint32_t of) {
  return "wrong " + std::to_string(static_cast<unsigned>(kind)) + " " + std::to_string(of);
}
}  // namespace

BOOST_AUTO_TEST_CASE(items_of_a_list_are_parted_by_commas) {
  static_assert(list_size("") == 1 && list_size("a") == 1 && list_size("a,b,") == 3);
  static_assert(list_item("a,bc,d", 0) == "a" && list_item("a,bc,d", 1) == "bc" && list_item("a,bc,d", 2) == "d");
  static_assert(list_item("a,bc", 2).empty() && list_item("", 0).empty() && list_item("a,,b", 1).empty());
}

BOOST_AUTO_TEST_CASE(a_process_has_one_device_unless_it_is_told) {
  BOOST_TEST(addresses(devices("")) == "127.47.91.1");
  BOOST_TEST(addresses(devices("1", "7")) == "127.47.91.7");
  BOOST_TEST(addresses(devices("", "10.0.0.1", "raw:eth0")) == "10.0.0.1");
}

BOOST_AUTO_TEST_CASE(devices_of_a_node_have_addresses_in_turn) {
  BOOST_TEST(addresses(devices("3", "7")) == "127.47.91.7 127.47.92.7 127.47.93.7");
  BOOST_TEST(devices("16", "254").addresses[15].ipv4() == 0x7f2f6afeu);  // 127.47.106.254
}

BOOST_AUTO_TEST_CASE(devices_elsewhere_are_given_addresses) {
  BOOST_TEST(addresses(devices("", "10.0.0.1,10.0.1.1")) == "10.0.0.1 10.0.1.1");
  BOOST_TEST(addresses(devices("2", "fd00::1,10.0.1.1")) == "fd00::1 10.0.1.1");
  BOOST_TEST(addresses(devices("2", "10.0.0.1")) == wrong(Kind::wrong_address, 1));
  BOOST_TEST(addresses(devices("", "10.0.0.1,")) == wrong(Kind::wrong_address, 1));
  BOOST_TEST(addresses(devices("", "10.0.0.1,255.1")) == wrong(Kind::wrong_address, 1));
  BOOST_TEST(addresses(devices("1", "10.0.0.1,10.0.1.1")) == wrong(Kind::wrong_address, 1));
  BOOST_TEST(addresses(devices("3", "10.0.0.1,10.0.0.2,10.0.0.1")) == wrong(Kind::same_address, 2));
  BOOST_TEST(addresses(devices("2", "3,3")) == wrong(Kind::same_address, 1));
}

BOOST_AUTO_TEST_CASE(ports_of_a_device_have_addresses_in_turn) {
  const auto ports = [](std::string_view count, std::string_view of_each, std::string_view nodes = "",
                        std::string_view links = "") {
    return devices_by(parse_node(list_item(nodes, 0)).value_or(node_address(1)), count, nodes, links, of_each);
  };
  BOOST_TEST(addresses(ports("", "2", "7")) == "127.47.91.7 127.48.91.7");
  BOOST_TEST(addresses(ports("2", "2", "7")) == "127.47.91.7 127.48.91.7 127.47.92.7 127.48.92.7");
  BOOST_TEST(addresses(ports("", "2", "10.0.0.1,10.0.1.1")) == "10.0.0.1 10.0.1.1");
  BOOST_TEST(ports("", "2", "10.0.0.1,10.0.1.1").count == 1u);
  BOOST_TEST(ports("", "2", "1,2,3,4").count == 2u);
  BOOST_TEST(addresses(ports("", "2", "10.0.0.1")) == wrong(Kind::wrong_address, 1));
  BOOST_TEST(addresses(ports("1", "2", "1,2,3")) == wrong(Kind::wrong_address, 2));
  BOOST_TEST(addresses(ports("", "2", "10.0.0.1,10.0.1.1", "raw:eth0")) == wrong(Kind::wrong_interface, 1));
  BOOST_TEST(addresses(ports("", "2", "10.0.0.1,10.0.1.1", "raw:eth0,eth1")) == "10.0.0.1 10.0.1.1");
  for (const char* of_each : {"0", "3", "two", "-1"}) BOOST_TEST(ports("", of_each).kind == Kind::wrong_ports, of_each);
  const OwnDevices four = ports("2", "2");
  BOOST_TEST((four.number(3) == DeviceNumber{1, 2} && four.place({1, 2}) == 3u));
}

BOOST_AUTO_TEST_CASE(ports_in_a_fabric_are_the_rails_of_the_node) {
  const OwnDevices own = devices_by(node_address(7), "2", "7", "fabric", "2");
  BOOST_TEST(addresses(own) == "127.47.91.7 127.47.92.7 127.47.93.7 127.47.94.7");
  BOOST_TEST((own.rail(3) == 3u && !devices("2").rail(1).has_value()));
}

BOOST_AUTO_TEST_CASE(devices_have_interfaces_of_their_own) {
  BOOST_TEST(addresses(devices("", "10.0.0.1,10.0.1.1", "raw:eth0,eth1")) == "10.0.0.1 10.0.1.1");
  BOOST_TEST((link_of_port("raw:eth0,eth1", 1).kind == "raw" && link_of_port("raw:eth0,eth1", 1).interface == "eth1"));
  BOOST_TEST((link_of_port("udp", 1).kind == "udp" && link_of_port("udp", 1).interface.empty()));
  BOOST_TEST(addresses(devices("", "10.0.0.1,10.0.1.1", "raw:eth0")) == wrong(Kind::wrong_interface, 1));
  BOOST_TEST(addresses(devices("", "10.0.0.1,10.0.1.1", "raw:eth0,eth0")) == wrong(Kind::wrong_interface, 1));
  BOOST_TEST(addresses(devices("1", "10.0.0.1", "raw:eth0,eth1")) == wrong(Kind::wrong_interface, 1));
  BOOST_TEST(addresses(devices("", "10.0.0.1", "raw:eth0,eth1")) == wrong(Kind::wrong_address, 1));
}

BOOST_AUTO_TEST_CASE(a_number_of_devices_is_1_to_16) {
  for (const char* count : {"0", "17", "-1", "two", "2x", "4294967297"})
    BOOST_TEST(devices(count).kind == Kind::wrong_count, count);
  BOOST_TEST(devices("", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17").kind == Kind::wrong_count);
}

BOOST_AUTO_TEST_CASE(each_port_has_its_speed_and_each_device_its_numa_node) {
  const OwnDevices two = devices_of({.devices = "2", .ports = "2"});
  const auto speed = [&](std::string_view nic, std::uint32_t place) {
    return port_facts(two, place, nic, "shm").bits_per_second.value_or(0) / 1'000'000'000;
  };
  BOOST_TEST(speed("mtu=1024", 3) == 0u);
  for (const std::uint32_t place : {0u, 1u, 2u, 3u}) {
    BOOST_TEST(speed("speed=25Gbps mtu=1024", place) == 25u);
    BOOST_TEST(speed("mtu=1024 speed=25Gbps,50Gbps", place) == (place < 2 ? 25u : 50u));
    BOOST_TEST(speed("speed=1Gbps,2Gbps,3Gbps,4Gbps", place) == place + 1);
    BOOST_TEST(speed("speed=1Gbps,2Gbps,3Gbps", place) == 0u);
    BOOST_TEST((port_facts(two, place, "speed=1Gbps numa=5,7", "shm").numa_node == (place < 2 ? 5u : 7u)));
    BOOST_TEST((port_facts(two, place, "numa=1,2,3,4", "shm").numa_node == std::nullopt));
  }
  BOOST_TEST(nic_word("line-speed=1Gbps speed=2Gbps", "speed") == "2Gbps");
}

BOOST_AUTO_TEST_CASE(over_a_raw_link_the_kernel_knows_what_nobody_says) {
  const OwnDevices one = devices_of({.node = "10.0.0.1", .link = "raw:lo"});
  BOOST_TEST((port_facts(one, 0, "speed=25Gbps numa=3", "raw:lo").bits_per_second == 25'000'000'000u));
  BOOST_TEST((port_facts(one, 0, "numa=3", "raw:lo").numa_node == 3u));
  // The loopback interface has neither speed nor device.
  BOOST_TEST((port_facts(one, 0, "", "raw:lo").bits_per_second == std::nullopt));
  BOOST_TEST((port_facts(one, 0, "", "raw:lo").numa_node == std::nullopt));
  BOOST_TEST((speed_of_interface("there-is-none") == std::nullopt));
  BOOST_TEST((numa_node_of_interface("a-name-that-is-too-long") == std::nullopt));
}
