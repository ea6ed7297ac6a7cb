// Nodes of a served fabric with several NIC ports: each device of a process is plugged into its rail.
#include "emulator/fabric/rails.h"

#include <boost/test/unit_test.hpp>

#include "tests/host/fabric_process/plugged_in.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

fabric::Topology railed(std::uint32_t nodes, fabric::Planes planes = fabric::Planes::separate) {
  return *fabric::with_rails(fabric::star(nodes, kFast), {.rails = 2, .planes = planes});
}
auto port_named(const Served& fabric, const std::string& name) {
  const auto seen = fabric.stat();
  for (const auto& port : seen.at("nodes"))
    if (port.at("name") == name) return port;
  BOOST_FAIL("there is no " << name);
  return seen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_go_from_a_rail_to_that_rail_of_another_node) {
  const Served fabric(railed(2));
  for (const std::uint32_t device : {0, 1}) {
    Uplink one(fabric, 1, device);
    Uplink two(fabric, 2, device);
    BOOST_TEST(one.send(two, 0, 9, 10));
    BOOST_TEST(in_order(two));
  }
  for (const char* name : {"n1.1", "n1.2"}) BOOST_TEST(port_named(fabric, name).at("frames_in") == 10);
  for (const char* name : {"n2.1", "n2.2"}) BOOST_TEST(port_named(fabric, name).at("frames_out") == 10);
  BOOST_TEST(port_named(fabric, "n2.2").at("address") == "127.47.92.2");
  BOOST_TEST(fabric.stat().at("rails") == 2);
}

BOOST_AUTO_TEST_CASE(only_shared_planes_join_rails_of_different_numbers) {
  for (const auto planes : {fabric::Planes::separate, fabric::Planes::shared}) {
    const Served fabric(railed(2, planes));
    Uplink one(fabric, 1, 0);
    Uplink two(fabric, 2, 1);
    const bool arrives = one.send(two, 0, 0, 1, std::chrono::milliseconds(200));
    BOOST_TEST(arrives == (planes == fabric::Planes::shared));
  }
}

BOOST_AUTO_TEST_CASE(a_rail_more_than_the_fabric_has_is_a_stray) {
  const Served fabric(railed(2));
  Uplink one(fabric, 1, 2);
  Uplink two(fabric, 2, 0);
  BOOST_TEST(!one.send(two, 0, 0, 1, std::chrono::milliseconds(200)));
  BOOST_TEST(fabric.stat().at("strays") == 1);
}

BOOST_AUTO_TEST_CASE(a_port_error_of_one_rail_leaves_the_other) {
  const Served fabric(railed(2));
  BOOST_TEST(fabric.ask({"port-error", "n1.2"}) == "");
  BOOST_TEST(port_named(fabric, "n1.1").at("up") == true);
  BOOST_TEST(port_named(fabric, "n1.2").at("up") == false);
  Uplink one(fabric, 1, 0);
  Uplink two(fabric, 2, 0);
  BOOST_TEST(one.send(two, 0, 0, 1));
  BOOST_TEST(one.link->has_signal());
  Uplink dead(fabric, 1, 1);
  BOOST_TEST(!dead.link->has_signal());
  BOOST_TEST(fabric.ask({"port-error", "n1"}) == "");
  BOOST_TEST(port_named(fabric, "n1.1").at("up") == false);
}

BOOST_AUTO_TEST_CASE(a_device_is_removed_where_a_process_of_that_rail_is) {
  const Served fabric(railed(2));
  Uplink one(fabric, 1, 1);
  BOOST_TEST(fabric.ask({"device-removal", "n1.2"}) == "");
  BOOST_TEST(fabric.ask({"device-removal", "n1.1"}).find("no process that listens runs on n1.1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_paused_rail_holds_its_own_nic_back_alone) {
  constexpr std::uint32_t kMoreThanRings = 3 * ShmUplink::kDepthBytes / 2048;
  constexpr fabric::CableParameters kCable{.rate_bits_per_second = 1'000'000'000, .propagation = Duration{1000}};
  fabric::Topology topology = *fabric::with_rails(fabric::star(2, {kCable, kCable}), {.rails = 2});
  topology.qos.emplace();
  topology.qos->lossless = fabric::bit_of(0);
  topology.qos->xoff = {.alpha = 0, .bytes = 20'000};
  const Served fabric(topology);
  BOOST_TEST(fabric.ask({"pause-storm", "n2.2", "0"}) == "");
  Uplink held(fabric, 1, 1);
  Uplink target(fabric, 2, 1);
  std::uint32_t psn = 0;
  const auto is_held = [&] { return !commit(*held.link, held.request_to(target, psn, 2048)); };
  BOOST_TEST(until([&] { return is_held() || ++psn == kMoreThanRings; }, [&] { held.pass(target); }));
  BOOST_TEST(psn < kMoreThanRings);
  Uplink free(fabric, 1, 0);
  Uplink other(fabric, 2, 0);
  BOOST_TEST(free.send(other, 0, 99, 100));
  BOOST_TEST(is_held());
}
