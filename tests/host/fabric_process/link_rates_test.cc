// After the fault link-rate, ports show the new rate: to processes of the nodes, and to managers.
#include "emulator/host/fabric_process/link_rates.h"

#include <boost/test/unit_test.hpp>

#include "emulator/host/node/infiniband_port.h"
#include "tests/host/fabric_process/plugged_in.h"
#include "tests/host/fabric_process/umad_program.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

std::uint64_t rate_of(const Served& fabric, std::uint32_t node) {
  return rate_of_port(fabric.name, device_of(node_address(node), {0}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_port_has_the_rate_of_its_slower_direction) {
  const Served fabric(fabric::star(3, {}));
  const std::uint64_t first = rate_of(fabric, 1);
  BOOST_TEST(fabric.ask({"link-rate", "n1-s1", "25Gbps"}) == "");
  BOOST_TEST(rate_of(fabric, 1) == 25 * kGiga);
  BOOST_TEST(rate_of(fabric, 2) == first);
  BOOST_TEST(fabric.ask({"link-rate", "n2->s1", "10Gbps"}) == "");
  BOOST_TEST(rate_of(fabric, 2) == 10 * kGiga);
  BOOST_TEST(fabric.ask({"link-rate", "n1-s1", "0"}) == "");
  BOOST_TEST(rate_of(fabric, 1) == kPortRateDefault);
}

BOOST_AUTO_TEST_CASE(agents_at_both_ends_tell_the_new_rate) {
  fabric::Topology topology = fabric::star(2, {});
  topology.medium = wire::Medium::infiniband;
  topology.is_managed = true;
  topology.qos = fabric::infiniband_qos();
  const Served fabric(std::move(topology));
  const auto shown = [&] { return read_managed_port(fabric.name, node_address(2)); };
  BOOST_TEST(fabric.ask({"link-rate", "n2-s1", "200Gbps"}) == "");
  BOOST_TEST((shown()->width == 2 && shown()->speed == 64));
  BOOST_TEST(shown()->state_changes == 0u);
  BOOST_TEST(fabric.ask({"link-rate", "n2-s1", "12Gbps"}) == "");
  BOOST_TEST(shown()->speed == 1);
}
