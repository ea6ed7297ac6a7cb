// Routes of a node's devices: by its own addresses, by the networks that it has on the loopback interface, and by the
// kernel's table, which every machine has a row of for 127.0.0.0/8.
#include <net/if.h>

#include <boost/test/unit_test.hpp>
#include <vector>

#include "verbs-shim/rdma_cm/route.h"

using namespace verbena;
using namespace verbena::shim::rdma_cm;

namespace {

constexpr std::size_t kNobodys = 99;

wire::Gid ipv4(std::uint32_t address) {
  return wire::Gid::from_ipv4(address);
}

/// The place of the device, kNobodys: there is none.
std::size_t route(const std::vector<host::DeviceIdentity>& devices, const Address& destination) {
  std::vector<const host::DeviceIdentity*> pointers;
  for (const host::DeviceIdentity& one : devices) pointers.push_back(&one);
  return find_route(pointers, destination).value_or(kNobodys);
}
std::size_t route(const std::vector<host::DeviceIdentity>& devices, std::uint32_t destination) {
  return route(devices, {.family = AF_INET, .gid = ipv4(destination)});
}

std::vector<host::DeviceIdentity> two_of_node(std::uint32_t node) {
  return {host::device_of(host::node_address(node), {0, 1}), host::device_of(host::node_address(node), {1, 1})};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(routes)

BOOST_AUTO_TEST_CASE(a_network_of_the_node_is_that_of_one_device) {
  const auto devices = two_of_node(7);
  BOOST_TEST(route(devices, 0x7f2f5b09) == 0u);
  BOOST_TEST(route(devices, 0x7f2f5c09) == 1u);
  BOOST_TEST(route(devices, 0x7f2f5c07) == 1u);        // its own
  BOOST_TEST(route(devices, 0x7f2f5d09) == kNobodys);  // a third device's
  BOOST_TEST(route(devices, 0x0a010203) == kNobodys);
  BOOST_TEST(route(devices, {.family = AF_INET6, .gid = ipv4(0x7f2f5c09)}) == 1u);
}

BOOST_AUTO_TEST_CASE(link_local_address_is_reached_by_its_interface) {
  const auto devices = two_of_node(7);
  wire::Gid peer{{0xfe, 0x80}};
  peer.octets[15] = 9;
  const auto via = [&](std::uint32_t scope) {
    return route(devices, {.family = AF_INET6, .gid = peer, .scope = scope});
  };
  BOOST_TEST(via(devices[0].own_interface->index) == 0u);
  BOOST_TEST(via(devices[1].own_interface->index) == 1u);
  BOOST_TEST(via(0) == kNobodys);
  Address own{.family = AF_INET6, .gid = devices[1].gids[1].gid, .scope = devices[1].own_interface->index};
  BOOST_TEST(has_address(devices[1], own));
  own.scope = devices[0].own_interface->index;
  BOOST_TEST(!has_address(devices[1], own));
}

BOOST_AUTO_TEST_CASE(where_devices_are_on_interfaces_the_kernel_is_asked) {
  // One on an interface that is not there, and two on the loopback one: the kernel's source address is 127.0.0.1.
  std::vector<host::DeviceIdentity> devices{host::device_at(ipv4(0x0a010203), {0, 1}, {.interface = "nowhere0"}),
                                            host::device_at(ipv4(0x7f000002), {1, 1}),
                                            host::device_at(ipv4(0x7f000001), {2, 1})};
  BOOST_TEST(route(devices, 0x7f050505) == 2u);
  BOOST_TEST(route(devices, 0x0a010203) == 0u);
  devices.pop_back();
  BOOST_TEST(route(devices, 0x7f050505) == 1u);  // by the interface
  devices.pop_back();
  BOOST_TEST(route(devices, 0x7f050505) == kNobodys);
}

BOOST_AUTO_TEST_SUITE_END()
