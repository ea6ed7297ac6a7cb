// When the port of a host has a signal, and who is told that it has none.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/fabric/network_control.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

struct Change {
  std::uint32_t host;
  bool is_up;
  bool operator==(const Change&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << "host " << change.host << (change.is_up ? " up" : " down");
}

struct Net final : PortListener {
  explicit Net(const Topology& topology) : network(topology, {}) {
    BOOST_TEST_REQUIRE(check(topology).ok());
    network.watch_ports(this);
  }
  void port_changed(std::uint32_t host, bool is_up) override {
    BOOST_TEST(network.port_is_up(host) == is_up);
    changes.push_back({host, is_up});
  }
  void set_cable(std::uint32_t cable, bool up) {
    for (const bool backward : {false, true}) control.set_link_up(now, {cable, backward}, up);
  }
  void expect(const std::vector<Change>& wanted) {
    BOOST_TEST(changes == wanted, boost::test_tools::per_element());
    changes.clear();
  }
  const Time now{1'000};
  Network network;
  NetworkControl control{network};
  std::vector<Change> changes;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_cable_that_goes_down_takes_the_port_of_its_host_with_it) {
  Net net(star(3, {}));
  for (const std::uint32_t host : {0u, 1u, 2u}) BOOST_TEST(net.network.port_is_up(host));
  net.set_cable(1, false);
  net.set_cable(1, false);
  net.expect({{1, false}});
  BOOST_TEST(!net.network.port_is_up(1));
  net.set_cable(1, true);
  net.expect({{1, true}});
}

BOOST_AUTO_TEST_CASE(one_direction_that_is_dead_is_noticed_by_nobody) {
  Net net(star(2, {}));
  net.control.set_link_up(net.now, {0, false}, false);
  net.expect({});
  net.control.set_link_up(net.now, {0, true}, false);
  net.expect({{0, false}});
  net.control.set_link_up(net.now, {0, false}, true);
  net.expect({{0, true}});
}

BOOST_AUTO_TEST_CASE(switch_takes_its_hosts_ports_and_returns_the_live_ones) {
  const Topology topology = dumbbell(2, {});
  Net net(topology);
  const std::uint32_t left = 4;  // the first switch
  net.control.set_switch_up(net.now, left, false);
  net.expect({{0, false}, {1, false}});
  net.set_cable(topology.cables_of(1).front(), false);
  net.expect({});
  net.control.set_switch_up(net.now, left, true);
  net.expect({{0, true}});
  net.set_cable(topology.cables_of(1).front(), true);
  net.expect({{1, true}});
}

BOOST_AUTO_TEST_CASE(a_trunk_and_a_partition_are_no_ports_business) {
  const Topology topology = dumbbell(2, {});
  Net net(topology);
  for (const std::uint32_t cable : topology.cables_of(4))
    if (!topology.is_host(topology.cables[cable].a) && !topology.is_host(topology.cables[cable].b))
      net.set_cable(cable, false);
  net.control.set_partition(0, 1, true);
  net.expect({});
}

BOOST_AUTO_TEST_CASE(host_keeps_its_port_as_long_as_one_cable_lives) {
  Topology triangle;
  triangle.hosts = 3;
  triangle.vertices = {{"n1", {}}, {"n2", {}}, {"n3", {}}};
  triangle.cables = {{0, 1, {}}, {0, 2, {}}, {1, 2, {}}};
  Net net(triangle);
  net.set_cable(0, false);
  net.expect({});
  net.set_cable(1, false);
  net.expect({{0, false}});
  net.set_cable(2, false);
  net.expect({{1, false}, {2, false}});
  net.network.watch_ports(nullptr);
  net.set_cable(2, true);
  net.expect({});
  BOOST_TEST(net.network.port_is_up(1));
}
