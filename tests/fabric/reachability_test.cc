// Who can be heard by whom: what reachability() says is what happens to frames, once routes have taken notice.
#include <random>

#include "tests/fabric/network_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

constexpr Duration kDetection = milliseconds(1);

/// A frame for each pair of hosts arrives if and only if it says so. PSN: from * 256 + to.
void compare(Net& net, std::int64_t& ns) {
  const std::uint32_t hosts = net.network.topology().hosts;
  ns += 2 * kDetection.ns;
  net.network.run(Time{ns}, net);
  net.got.clear();
  for (std::uint32_t from = 0; from < hosts; ++from)
    for (std::uint32_t to = 0; to < hosts; ++to) net.send(ns, from, to, from * 256 + to);
  ns += milliseconds(1).ns;
  net.network.run(Time{ns}, net);
  const Reachability found = net.network.reachability();
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      const bool arrived = std::any_of(net.got.begin(), net.got.end(),
                                       [&](const Got& got) { return got.psn == from * 256 + to && got.host == to; });
      BOOST_TEST(found.reaches(from, to) == arrived, "from host " << from << " to host " << to);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_it_says_is_what_happens_to_frames_whatever_is_dead) {
  const Topology shapes[] = {star(3, {}),      line(4, {}),     ring(5, {}),
                             full_mesh(4, {}), dumbbell(2, {}), leaf_spine({}, {})};
  std::mt19937 random(1);
  for (const Topology& topology : shapes) {
    for (int round = 0; round < 20; ++round) {
      Net net(topology, {.detection = kDetection});
      std::int64_t ns = 1'000;
      const auto one_of = [&](std::uint32_t count) { return static_cast<std::uint32_t>(random() % count); };
      const auto cables = static_cast<std::uint32_t>(topology.cables.size());
      for (int faults = round % 5; faults > 0; --faults) {
        net.control.set_link_up(Time{ns}, {one_of(cables), random() % 2 == 0}, false);
        if (random() % 4 == 0) net.control.set_switch_up(Time{ns}, topology.hosts + one_of(topology.switches()), false);
        const std::uint32_t from = one_of(topology.hosts);
        const std::uint32_t to = one_of(topology.hosts);
        if (from != to) net.control.set_partition(from, to, true);
      }
      compare(net, ns);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_mended_is_reached_again) {
  Net net(star(2, {}), {.detection = kDetection});
  net.control.set_link_up(Time{0}, {0, false}, false);
  BOOST_TEST(!net.network.reachability().reaches(0, 1));
  BOOST_TEST(net.network.reachability().reaches(1, 0));
  BOOST_TEST(net.network.reachability().reaches(0, 0));
  net.control.set_link_up(Time{0}, {0, false}, true);
  BOOST_TEST(net.network.reachability().reaches(0, 1));
}
