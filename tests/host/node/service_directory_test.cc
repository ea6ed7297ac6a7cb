// Names of services and processes: who has them, and how others see that a process has ended.
#include "emulator/host/node/service_directory.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fstream>
#include <string>

#include "emulator/host/node/identity.h"

using namespace verbena;
using namespace verbena::host;

namespace {

const wire::Gid kNode = wire::Gid::from_ipv4(0x7f2f5b01);
constexpr std::uint64_t kService = 0x01061234;
constexpr ServiceDirectory::Claimed kClaimed{kService, IpVersion::ipv4, false};
constexpr wire::IpVersions kIpv4{.ipv4 = true};
constexpr wire::IpVersions kIpv6{.ipv6 = true};

ServiceDirectory directory_of(std::uint8_t slot) {
  return ServiceDirectory("directory-test-" + std::to_string(getpid()), slot, kNode);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_is_not_there_cannot_be_watched) {
  BOOST_TEST(!directory_of(1).watch(kNode, 2).watch.has_value());
}

BOOST_AUTO_TEST_CASE(a_link_local_address_has_the_names_of_its_port) {
  const wire::Gid link_local = *link_local_of(kNode);
  const auto directory = directory_of(4);
  BOOST_TEST(!directory.find_process(link_local, 0, {}).has_value());
  const auto presence = directory.announce();
  BOOST_TEST((directory_of(1).find_process(link_local, 0, {}) == std::uint8_t{4}));
  BOOST_TEST(directory_of(1).watch(link_local, 4).watch.has_value());
  BOOST_TEST(!directory_of(1).is_deserted(link_local));
}

BOOST_AUTO_TEST_CASE(watch_tells_a_process_end_despite_the_next_in_its_place) {
  auto presence = directory_of(2).announce();
  BOOST_TEST(presence.held());
  const auto watch = directory_of(1).watch(kNode, 2).watch;
  BOOST_REQUIRE(watch.has_value());
  // However often one looks: nothing fills up.
  for (int look = 0; look < 2000; ++look) BOOST_TEST(!watch->is_gone());
  presence.release();
  const auto successor = directory_of(2).announce();
  BOOST_TEST(successor.held());
  BOOST_TEST(watch->is_gone());
  BOOST_TEST(watch->is_gone());  // and remains so
  const auto other = directory_of(1).watch(kNode, 2).watch;
  BOOST_REQUIRE(other.has_value());
  BOOST_TEST(!other->is_gone());
}

BOOST_AUTO_TEST_CASE(a_watch_sees_a_process_killed) {
  const std::string fabric = "directory-test-" + std::to_string(getpid());
  int ready[2];
  BOOST_REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto presence = ServiceDirectory(fabric, 3, kNode).announce();
    const char yes = presence.held() ? 1 : 0;
    if (write(ready[1], &yes, 1) == 1) pause();
    _exit(1);
  }
  char is_held = 0;
  BOOST_REQUIRE(read(ready[0], &is_held, 1) == 1);
  BOOST_TEST(is_held == 1);
  const auto watch = directory_of(1).watch(kNode, 3).watch;
  BOOST_REQUIRE(watch.has_value());
  BOOST_TEST(!watch->is_gone());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  BOOST_TEST(watch->is_gone());
  close(ready[0]);
  close(ready[1]);
}

BOOST_AUTO_TEST_CASE(service_is_claimed_once_a_node_and_found_once_listened_for) {
  int error = 0;
  auto claim = directory_of(4).claim(kClaimed, error);
  BOOST_REQUIRE(claim.has_value());
  BOOST_TEST(!directory_of(5).claim(kClaimed, error).has_value());
  BOOST_TEST(error == EADDRINUSE);
  BOOST_TEST(!directory_of(5).find_listener(kNode, kService, kIpv4).has_value());
  const auto listener = directory_of(4).serve(kService, IpVersion::ipv4);
  BOOST_TEST(directory_of(5).find_listener(kNode, kService, kIpv4).value() == 4u);
  claim.reset();
  BOOST_TEST(!directory_of(5).find_listener(kNode, kService, kIpv4).has_value());
}

BOOST_AUTO_TEST_CASE(wildcard_address_is_not_available_rather_than_in_use) {
  const ServiceDirectory::Claimed any{kService, IpVersion::ipv4, true};
  int error = 0;
  auto claim = directory_of(4).claim(any, error);
  BOOST_TEST(!directory_of(5).claim(kClaimed, error).has_value());
  BOOST_TEST(error == EADDRNOTAVAIL);
  claim = directory_of(4).claim(kClaimed, error);
  BOOST_TEST(error == EADDRNOTAVAIL);  // taken by itself; what was assigned is nothing now
  claim = directory_of(4).claim(kClaimed, error);
  BOOST_REQUIRE(claim.has_value());
  BOOST_TEST(!directory_of(5).claim(any, error).has_value());
  BOOST_TEST(error == EADDRNOTAVAIL);
}

BOOST_AUTO_TEST_CASE(each_ip_version_has_its_own_holder_and_its_own_listener) {
  int error = 0;
  const auto four = directory_of(4).claim(kClaimed, error);
  const auto six = directory_of(6).claim({kService, IpVersion::ipv6, false}, error);
  BOOST_REQUIRE(four.has_value());
  BOOST_REQUIRE(six.has_value());
  const ServiceDirectory asking = directory_of(9);
  const auto presence = directory_of(2).announce();
  const auto of_six = directory_of(6).serve(kService, IpVersion::ipv6);
  BOOST_TEST(asking.find_listener(kNode, kService, kIpv6).value() == 6u);
  BOOST_TEST(!asking.find_listener(kNode, kService, kIpv4).has_value());
  BOOST_TEST(asking.find_process(kNode, kService, kIpv4).value() == 6u);  // which will turn it down
  const auto of_four = directory_of(4).serve(kService, IpVersion::ipv4);
  BOOST_TEST(asking.find_listener(kNode, kService, kIpv4).value() == 4u);
  BOOST_TEST(asking.find_listener(kNode, kService, kIpv6).value() == 6u);
  BOOST_TEST(asking.find_process(kNode, kService + 1, kIpv6).value() == 2u);
}

BOOST_AUTO_TEST_CASE(the_kernels_table_of_names_tells_who_listens) {
  const auto listeners = [] {
    int found = 0;
    std::ifstream table("/proc/net/unix");
    for (std::string line; std::getline(table, line);)
      if (line.find("/directory-test-" + std::to_string(getpid()) + "/") != line.npos &&
          names_listener(line.substr(line.rfind(' ') + 1)))
        ++found;
    return found;
  };
  for (const auto& node : {kNode, wire::Gid::from_ipv4(0x0a000001), wire::Gid{}}) {
    const ServiceDirectory directory("directory-test-" + std::to_string(getpid()), 200, node);
    const auto presence = directory.announce();
    int error = 0;
    const auto claim = directory.claim({kService, IpVersion::ipv4, true}, error);
    const auto other = directory.claim({kService, IpVersion::ipv6, true}, error);
    BOOST_REQUIRE(claim.has_value());
    BOOST_REQUIRE(other.has_value());
    BOOST_TEST(listeners() == 0);
    const auto listener = directory.serve(kService, IpVersion::ipv4);
    BOOST_TEST(listener.held());
    BOOST_TEST(listeners() == 1);
    const auto listener6 = directory.serve(kService, IpVersion::ipv6);
    BOOST_TEST(listeners() == 2);
  }
  for (const char* const name : {"", "@", "@verbena-cm/", "@verbena-cm/0", "@verbena-cm/0/f/127.47.91.1/1061234",
                                 "@verbena-cm/0/f/127.47.91.1/node/3", "@other/0/f/127.47.91.1/1061234/3"})
    BOOST_TEST(!names_listener(name), name);
}
