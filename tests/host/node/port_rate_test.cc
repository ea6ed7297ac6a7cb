// The rate that a port has now, from the file that the fabric process writes.
#include <boost/test/unit_test.hpp>

#include "emulator/host/node/port_rate_file.h"

using namespace verbena;
using namespace verbena::host;

namespace {

std::string own_fabric() {
  return "rates-" + std::to_string(getpid());
}

DeviceIdentity port_of(std::uint32_t node) {
  DeviceIdentity port = device_of(node_address(node), {0});
  port.bits_per_second = 7'000'000;
  return port;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_port_has_its_first_rate_until_it_gets_another) {
  BOOST_TEST(rate_of_port(own_fabric(), port_of(1)) == 7'000'000u);
  {
    auto file = PortRateFile::make(own_fabric(), 2, 1);
    BOOST_REQUIRE(file.ok());
    BOOST_TEST(rate_of_port(own_fabric(), port_of(2)) == 7'000'000u);
    file->set(1, 25'000'000'000);
    BOOST_TEST(rate_of_port(own_fabric(), port_of(2)) == 25'000'000'000u);
    BOOST_TEST(rate_of_port(own_fabric(), port_of(1)) == 7'000'000u);
    BOOST_TEST(rate_of_port(own_fabric(), port_of(3)) == 7'000'000u);
    BOOST_TEST(rate_of_port(own_fabric() + "x", port_of(2)) == 7'000'000u);
  }
  BOOST_TEST(rate_of_port(own_fabric(), port_of(2)) == 7'000'000u);
  BOOST_TEST(access(port_rates_path(own_fabric()).c_str(), F_OK) != 0);
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_has_left_is_removed) {
  const std::string left = std::string(port_rates_path(own_fabric()).c_str()) + ".left";
  close(open(left.c_str(), O_RDWR | O_CREAT, 0600));
  const auto file = PortRateFile::make(own_fabric(), 1, 1);
  BOOST_REQUIRE(file.ok());
  HostFile::remove_left();
  BOOST_TEST(access(left.c_str(), F_OK) != 0);
  BOOST_TEST(access(port_rates_path(own_fabric()).c_str(), F_OK) == 0);
}
