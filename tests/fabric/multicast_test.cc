// Frames for a multicast group reach every host once, whatever the shape, and none of them goes in a circle.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/network_control.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::fabric;
using test::node_gid;

namespace {

struct Net final : Sink, Observer {
  explicit Net(const Topology& topology) : network(topology, {}) {
    BOOST_TEST_REQUIRE(check(topology).ok());
    for (std::uint32_t host = 0; host < topology.hosts; ++host) network.add_address(host, node_gid(host + 1));
    network.observe(this);
  }
  bool arrived(const Arrival& arrival) override {
    hosts.push_back(arrival.host);
    return true;
  }
  void observe(const ObservedFrame& observed) override {
    entered += observed.event == FrameEvent::entered;
    sent += observed.event == FrameEvent::sent;
  }
  /// The hosts that a frame of `host` for 224.1.2.3 reaches.
  std::vector<std::uint32_t> send(std::uint32_t host) {
    hosts.clear();
    entered = sent = 0;
    wire::FramePath path;
    path.source = node_gid(host + 1);
    path.destination = wire::Gid::from_ipv4(0xe0010203);
    path.udp_source_port = 0xc000;
    const test::PacketSpec spec{.opcode = test::ud(wire::OperationCode::send_only), .dest_qp = wire::kMulticastQpn};
    now = now + milliseconds(1);
    network.submit(now, host, test::make_frame(wire::FrameTemplate(path), spec));
    network.run(now + milliseconds(1), *this);
    std::sort(hosts.begin(), hosts.end());
    return hosts;
  }

  Network network;
  NetworkControl control{network};
  Time now{};
  std::vector<std::uint32_t> hosts;
  int entered = 0;
  int sent = 0;
};

using Hosts = std::vector<std::uint32_t>;

Hosts all_but(std::uint32_t hosts, std::uint32_t one) {
  Hosts all;
  for (std::uint32_t host = 0; host < hosts; ++host)
    if (host != one) all.push_back(host);
  return all;
}

Topology without_switches() {
  Topology topology;
  topology.hosts = 3;
  topology.vertices = {{"n1"}, {"n2"}, {"n3"}};
  topology.cables = {{0, 1, {}}, {0, 2, {}}, {1, 2, {}}};
  return topology;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_other_host_gets_it_once_on_every_shape) {
  const ShapeParameters cables;
  for (const Topology& topology :
       {star(4, cables), line(4, cables), ring(5, cables), full_mesh(4, cables), dumbbell(2, cables),
        leaf_spine({3, 3, 2}, cables), fat_tree(4, cables), without_switches()}) {
    Net net(topology);
    for (std::uint32_t host = 0; host < topology.hosts; ++host) {
      BOOST_TEST((net.send(host) == all_but(topology.hosts, host)), "host " << host << " of " << topology.hosts);
      BOOST_TEST(net.entered == 1);
      BOOST_TEST(!net.network.next_deadline().has_value());  // nothing goes on
    }
  }
}

BOOST_AUTO_TEST_CASE(it_crosses_no_more_cables_than_the_tree_has) {
  // A ring of five: five hosts' cables, one of them up, four of the five between the switches.
  Net net(ring(5, {}));
  net.send(2);
  BOOST_TEST(net.sent == 5 + 4);
}

BOOST_AUTO_TEST_CASE(the_tree_grows_around_what_is_dead) {
  const Topology topology = ring(4, {});
  Net net(topology);
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable) {
    const bool is_trunk = topology.cables[cable].a >= topology.hosts;
    if (!is_trunk) continue;
    for (const bool backward : {false, true}) net.control.set_link_up(net.now, {cable, backward}, false);
    net.network.run(net.now = net.now + milliseconds(20), net);  // detected
    BOOST_TEST((net.send(0) == all_but(4, 0)), topology.cable_name(cable));
    for (const bool backward : {false, true}) net.control.set_link_up(net.now, {cable, backward}, true);
    net.network.run(net.now = net.now + milliseconds(20), net);
  }
  net.control.set_switch_up(net.now, 4, false);  // n1's
  BOOST_TEST((net.send(2) == Hosts{1}));         // not yet detected: n4's branch hangs on it
  net.network.run(net.now = net.now + milliseconds(20), net);
  BOOST_TEST((net.send(2) == Hosts{1, 3}));
  BOOST_TEST((net.send(0).empty()));
}

BOOST_AUTO_TEST_CASE(a_partition_and_faults_hold_for_groups_as_well) {
  Net net(star(3, {}));
  net.control.set_partition(0, 2, true);
  BOOST_TEST((net.send(0) == Hosts{1}));
  BOOST_TEST((net.send(2) == Hosts{0, 1}));
  net.control.set_partition(0, 2, false);
  net.control.set_faults({1, true}, {*parse_fault("drop 100%")});  // down to n2
  BOOST_TEST((net.send(0) == Hosts{2}));
}
