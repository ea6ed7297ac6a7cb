// Which of a machine's addresses is meant by words that are the same on every machine.
#include "emulator/host/node/host_address.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <string>

using namespace verbena;
using namespace verbena::host;

namespace {

wire::Gid ipv6(const char* text) {
  wire::Gid gid;
  BOOST_REQUIRE(inet_pton(AF_INET6, text, gid.octets.data()) == 1);
  return gid;
}

const wire::Gid kLoopback = wire::Gid::from_ipv4(0x7f000001);
const wire::Gid kFirst = wire::Gid::from_ipv4(0x0a4d0007);   // 10.77.0.7
const wire::Gid kSecond = wire::Gid::from_ipv4(0xc0a80105);  // 192.168.1.5
const std::vector<InterfaceAddress> kOwn = {
    {"lo", kLoopback},         {"eth0", ipv6("fe80::1")}, {"eth0", ipv6("fd77::7")}, {"eth0", kFirst},
    {"eth1", ipv6("fd78::7")}, {"eth2", ipv6("fe80::2")}, {"eth1", kSecond},
};

wire::Gid found(std::string_view text) {
  const auto address = host_address(text, kOwn);
  BOOST_REQUIRE_MESSAGE(address.ok(), text << ": " << (address.ok() ? "" : address.error()));
  return *address;
}
std::string error_of(std::string_view text) {
  const auto address = host_address(text, kOwn);
  return address ? "no error" : address.error();
}

/// A file of the test, which goes with it.
struct File {
  explicit File(const std::string& text) : path("hosts." + std::to_string(getpid())) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
  std::string words() const { return std::string(kHostsPrefix) + path; }
  const std::string path;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_subnet_is_the_address_in_it) {
  BOOST_TEST((found("10.77.0.0/24") == kFirst));
  BOOST_TEST((found("10.77.0.0/29") == kFirst));
  BOOST_TEST((found("192.168.0.0/16") == kSecond));
  BOOST_TEST((found("0.0.0.0/0") == kLoopback));  // the first
  BOOST_TEST((found("fd77::/64") == ipv6("fd77::7")));
  BOOST_TEST((found("fd00::/8") == ipv6("fd77::7")));
  BOOST_TEST(
      error_of("10.77.0.8/29").starts_with("this machine has no address in 10.77.0.8/29; it has lo 127.0.0.1, "));
  for (const char* const wrong : {"10.77.0.0/33", "10.77.0.0/", "10.77.0.0/x", "fd77::/129", "10.77.0.0/-1"})
    BOOST_TEST(error_of(wrong).find("the number of bits is one from 0 to ") != std::string::npos, wrong);
  BOOST_TEST(error_of("10.77/24") == "10.77/24: want an address and a number of bits, as 10.77.0.0/24");
}

BOOST_AUTO_TEST_CASE(an_interface_is_its_ipv4_address_or_its_ipv6_address) {
  BOOST_TEST((found("eth0") == kFirst));
  BOOST_TEST((found("eth1") == kSecond));
  const auto only_ipv6 = host_address("eth0", {{"eth0", ipv6("fe80::1")}, {"eth0", ipv6("fd77::7")}});
  BOOST_TEST((only_ipv6 && *only_ipv6 == ipv6("fd77::7")));
  BOOST_TEST(error_of("eth2") == "interface eth2 has a link-local address only");
  BOOST_TEST(
      error_of("eth9").starts_with("'eth9' is no number from 1 to 254, no IP address, no subnet and no interface"));
}

BOOST_AUTO_TEST_CASE(a_file_of_hosts_is_the_first_that_is_this_machine) {
  const File file("# hosts\n\n10.77.0.6 slots=2\n  10.77.0.7 slots=2  # this one\n192.168.1.5\n");
  BOOST_TEST((found(file.words()) == kFirst));
  {
    const File mpich("10.77.0.6:4\n192.168.1.5:4\n10.77.0.7:4\n");
    BOOST_TEST((found(mpich.words()) == kSecond));
  }
  {
    const File sixes("fd77::6\nfd77::7\n");
    BOOST_TEST((found(sixes.words()) == ipv6("fd77::7")));
  }
  {
    const File others("10.77.0.1\n10.77.0.2\n");
    BOOST_TEST(error_of(others.words()).find(": none of its 2 hosts is this machine, which has lo 127.0.0.1") !=
               std::string::npos);
  }
  BOOST_TEST(error_of("hosts:/no/such/file") == "/no/such/file: No such file or directory");
}

BOOST_AUTO_TEST_CASE(this_machine_has_a_loopback_interface) {
  const auto own = own_addresses();
  BOOST_TEST(std::ranges::any_of(own, [](const InterfaceAddress& one) { return one.address == kLoopback; }));
}
