// Switches that send a packet on before all of it has come: when it is there, and what becomes of a damaged one.
#include <boost/test/unit_test.hpp>

#include "tests/fabric/subnet_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

constexpr std::int64_t kOctetNs = 8;
constexpr std::int64_t kHeaderNs = 8 * kOctetNs;
constexpr std::int64_t kCableNs = 1000;
constexpr PacketOf kToN3{.from = 1, .to = 3, .payload = 1024};

std::int64_t packet_ns() {
  return static_cast<std::int64_t>(make_packet(kToN3).size()) * kOctetNs;
}

Topology cutting(Topology topology) {
  topology.qos->cuts_through = true;
  return topology;
}

/// When the last packet came.
std::int64_t arrival_ns(Managed& net) {
  for (;;) {
    net.run(nanoseconds(1));
    if (!net.got.empty()) return net.now;
    BOOST_TEST_REQUIRE(net.now < 1'000'000);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_switch_costs_a_header_and_not_a_packet) {
  Pair stores;
  stores.send(0, kToN3);
  BOOST_TEST(arrival_ns(stores) == 3 * packet_ns() + 3 * kCableNs);
  Pair cuts(cutting(managed(dumbbell(2, slow()))));
  cuts.send(0, kToN3);
  BOOST_TEST(arrival_ns(cuts) == packet_ns() + 2 * kHeaderNs + 3 * kCableNs);
  BOOST_TEST((cuts.got.size() == 1 && cuts.got[0].is_right));
}

BOOST_AUTO_TEST_CASE(packet_that_comes_too_slowly_is_stored) {
  ShapeParameters shape = slow();
  shape.trunk.rate_bits_per_second *= 2;
  Pair net(cutting(managed(dumbbell(2, shape))));
  net.send(0, kToN3);
  // s1 stores it, s2 does not.
  BOOST_TEST(arrival_ns(net) == packet_ns() + kHeaderNs / 2 + packet_ns() + 3 * kCableNs);
  // A slower way out is no matter.
  net.got.clear();
  net.control.set_link_rate(Time{net.now}, {Pair::kTrunk, false}, 500'000'000);
  net.control.set_link_rate(Time{net.now}, {Pair::kTrunk, true}, 500'000'000);
  const std::int64_t sent = net.now;
  net.send(0, kToN3);
  BOOST_TEST(arrival_ns(net) - sent == kHeaderNs + 2 * packet_ns() + packet_ns() + 3 * kCableNs);
}

BOOST_AUTO_TEST_CASE(packet_waits_for_a_way_out_that_is_not_free) {
  Pair net(cutting(managed(dumbbell(2, slow()))));
  net.send(1, {.from = 2, .to = 3, .psn = 7, .payload = 1024});
  net.send(0, {.from = 1, .to = 3, .psn = 8, .payload = 1024});
  net.run(milliseconds(1));
  BOOST_TEST_REQUIRE(net.got.size() == 2u);
  BOOST_TEST((net.got[0].is_right && net.got[1].is_right));
  BOOST_TEST(net.network.statistics().lost == 0u);
  Pair again(cutting(managed(dumbbell(2, slow()))));
  again.send(1, {.from = 2, .to = 3, .payload = 1024});
  again.send(0, {.from = 1, .to = 4, .payload = 1024});
  arrival_ns(again);
  again.got.clear();
  BOOST_TEST(arrival_ns(again) == 2 * packet_ns() + 2 * kHeaderNs + 3 * kCableNs);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_where_three_cut_through_to_one) {
  Topology topology = cutting(managed(star(4, slow()), 8 << 10));
  Managed net(topology);
  net.set_up();
  net.route(4, {1, 2, 3, 4});
  for (std::uint32_t i = 0; i < 300; ++i) {
    for (std::uint32_t host = 0; host < 3; ++host)
      net.send(host, {.from = host + 1, .to = 4, .psn = i, .payload = 1024});
    net.run(microseconds(20));
  }
  net.run(milliseconds(50));
  BOOST_TEST(net.got.size() == 900u);
  BOOST_TEST(std::ranges::all_of(net.got, &Managed::Arrived::is_right));
  BOOST_TEST(net.network.statistics().overflowed + net.network.statistics().lost == 0u);
}

BOOST_AUTO_TEST_CASE(damaged_packet_goes_on_as_a_bad_one) {
  Pair net(cutting(managed(dumbbell(2, slow()))));
  LanesOfLevels lanes;
  lanes.fill(3);
  net.subnet.set_lanes(Pair::s1, 1, 3, lanes);
  net.set_faults({0, false}, {"corrupt where=payload"});
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  BOOST_TEST((net.traffic(Pair::s1, 1).symbol_errors == 1 && net.traffic(Pair::s1, 1).receive_errors == 1));
  BOOST_TEST((net.traffic(Pair::s2, 3).symbol_errors == 0 && net.traffic(Pair::s2, 3).remote_errors == 1));
  BOOST_TEST((net.traffic(2, 1).symbol_errors == 0 && net.traffic(2, 1).remote_errors == 1));
  BOOST_TEST(net.damaged_but_sealed == 0);
  net.set_faults({0, false}, {"truncate to=14"});
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{}));
  BOOST_TEST(net.traffic(Pair::s1, 1).receive_errors == 2u);
  BOOST_TEST(net.traffic(Pair::s1, 3).sent_packets == 1u);  // there was no header to go by
  net.set_faults({0, false}, {});
  BOOST_TEST((net.hosts_reached(0, kToN3) == Hosts{2}));
}

BOOST_AUTO_TEST_CASE(subnet_without_a_manager_cuts_through_as_well) {
  for (const bool cuts : {false, true}) {
    Topology topology = managed(dumbbell(2, slow()));
    topology.is_managed = false;
    topology.qos->cuts_through = cuts;
    Network network(topology, {});
    for (std::uint32_t host = 0; host < 4; ++host) network.add_address(host, wire::gid_of(wire::Lid(host + 1)));
    struct Ears final : Sink {
      bool arrived(const Arrival& arrival) override {
        if (arrival.frame.size() != wire::kLinkPacketBytes) at_ns = arrival.time.ns;
        return true;
      }
      std::int64_t at_ns = 0;
    } ears;
    network.submit(Time{0}, 0, make_packet(kToN3));
    network.run(Time{1'000'000}, ears);
    const std::int64_t switches_ns = cuts ? 2 * kHeaderNs : 2 * packet_ns();
    BOOST_TEST(ears.at_ns == packet_ns() + switches_ns + 3 * kCableNs);
  }
}
