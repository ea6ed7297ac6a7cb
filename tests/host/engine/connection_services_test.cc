// The communication managers of a NIC with two ports: each hears what arrives by its own, and answers by it.
#include "emulator/host/engine/connection_services.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/host/engine/engine_node.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using cm::ConnectionManager;
using cm::EventType;

namespace {

constexpr std::uint64_t kService = 0x1061234;
constexpr std::uint64_t kListener = 7;
constexpr std::uint64_t kAsker = 9;

wire::Gid address_of(std::uint8_t node, std::uint32_t port) {
  return device_address(node_address(node), {0, port});
}

EngineConfig two_ports(std::uint8_t node) {
  EngineConfig config = engine_config(node, "connection-services-" + std::to_string(getpid()), false);
  config.further_ports.push_back({address_of(node, 2), config.link});
  return config;
}

struct Node : EngineNode {
  using EngineNode::EngineNode;
  void connection_event(std::uint32_t port, const cm::Event& event) override { told.push_back({port, event}); }
  void listen(std::uint32_t port) {
    BOOST_REQUIRE(engine->run_connections(
        [](ConnectionManager& manager, Time) { return manager.listeners().add(kService, kListener); }, port));
  }
  cm::ConnectionId ask(std::uint8_t peer, std::uint32_t port) {
    cm::RequestInit init;
    init.context = kAsker;
    init.service_id = kService;
    init.path.address = address_of(peer, port);
    init.path.next_hop = engine->resolve(init.path.address, port).value();
    init.path.packet_lifetime = 16;
    return engine->run_connections([&](ConnectionManager& manager, Time now) { return manager.request(now, init); },
                                   port);
  }
  std::vector<ConnectionServices::PortEvent> told;
};

struct Pair {
  Node a{1, two_ports(1)};
  Node b{2, two_ports(2)};
  /// Until `at` has been told of so many events; bounded.
  const ConnectionServices::PortEvent& await(Node& at, std::size_t count) {
    const Time end = clock_now() + seconds(20);
    while (at.told.size() < count && clock_now() < end) {
      a.engine->progress();
      b.engine->progress();
    }
    BOOST_REQUIRE(at.told.size() == count);
    return at.told.back();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(requests_reach_the_listener_of_their_port_alone) {
  for (const std::uint32_t port : {1u, 2u}) {
    Pair pair;
    pair.b.listen(port);
    const auto asked = pair.a.ask(2, port);
    const auto& heard = pair.await(pair.b, 1);
    BOOST_TEST(heard.port == port);
    BOOST_CHECK(heard.event.type == EventType::request);
    BOOST_TEST(heard.event.context == kListener);
    BOOST_CHECK(heard.event.path.address == address_of(1, port));
    const auto taken = heard.event.connection;
    BOOST_REQUIRE(pair.b.engine->run_connections(
        [&](ConnectionManager& manager, Time now) { return manager.reply(now, taken, {}, {}); }, port));
    const auto& answered = pair.await(pair.a, 1);
    BOOST_TEST(answered.port == port);
    BOOST_CHECK(answered.event.type == EventType::reply);
    BOOST_TEST(answered.event.connection == asked);
  }
}

BOOST_AUTO_TEST_CASE(a_listener_does_not_hear_on_the_other_port) {
  Pair pair;
  pair.b.listen(1);
  pair.a.ask(2, 2);
  const auto& answered = pair.await(pair.a, 1);
  BOOST_TEST(answered.port == 2u);
  BOOST_CHECK(answered.event.type == EventType::rejected);
  BOOST_TEST(answered.event.status == static_cast<std::uint16_t>(cm::RejectReason::invalid_service_id));
  BOOST_TEST(pair.b.told.empty());
}

BOOST_AUTO_TEST_CASE(connection_ids_of_two_ports_are_different) {
  Pair pair;
  std::vector<cm::ConnectionId> ids;
  for (int i = 0; i < 8; ++i)
    for (const std::uint32_t port : {1u, 2u}) ids.push_back(pair.a.ask(2, port));
  std::ranges::sort(ids);
  BOOST_CHECK(std::ranges::adjacent_find(ids) == ids.end());
}

BOOST_AUTO_TEST_CASE(every_port_tells_that_the_device_is_removed) {
  EngineConfig config = two_ports(1);
  config.nic.removed_after = milliseconds(1);
  Node node(1, config);
  const Time end = clock_now() + seconds(20);
  while (node.told.size() < 2 && clock_now() < end) node.engine->progress();
  BOOST_REQUIRE(node.told.size() == 2u);
  for (const auto& [port, event] : node.told) BOOST_CHECK(event.type == EventType::device_removed);
  BOOST_TEST(node.told[0].port + node.told[1].port == 3u);
}
