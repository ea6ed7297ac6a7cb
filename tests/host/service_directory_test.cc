// Names of services and processes: who has them, and how others see that a process has ended.
#include "emulator/host/service_directory.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <fstream>
#include <string>

using namespace verbena;
using namespace verbena::host;

namespace {

const wire::Gid kNode = wire::Gid::from_ipv4(0x7f2f5b01);
constexpr std::uint64_t kService = 0x01061234;

ServiceDirectory directory_of(std::uint8_t slot) {
  return ServiceDirectory("directory-test-" + std::to_string(getpid()), slot, kNode);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_that_is_not_there_cannot_be_watched) {
  BOOST_TEST(!directory_of(1).watch(kNode, 2).has_value());
}

BOOST_AUTO_TEST_CASE(a_watch_tells_the_end_of_a_process_and_is_not_deceived_by_the_next_in_its_place) {
  auto presence = directory_of(2).announce();
  BOOST_TEST(presence.held());
  const auto watch = directory_of(1).watch(kNode, 2);
  BOOST_REQUIRE(watch.has_value());
  // However often one looks: nothing fills up.
  for (int look = 0; look < 2000; ++look) BOOST_TEST(!watch->is_gone());
  presence.release();
  const auto successor = directory_of(2).announce();
  BOOST_TEST(successor.held());
  BOOST_TEST(watch->is_gone());
  BOOST_TEST(watch->is_gone());  // and remains so
  const auto other = directory_of(1).watch(kNode, 2);
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
  const auto watch = directory_of(1).watch(kNode, 3);
  BOOST_REQUIRE(watch.has_value());
  BOOST_TEST(!watch->is_gone());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  BOOST_TEST(watch->is_gone());
  close(ready[0]);
  close(ready[1]);
}

BOOST_AUTO_TEST_CASE(a_service_is_claimed_once_on_a_node_and_found_when_somebody_listens) {
  int error = 0;
  auto claim = directory_of(4).claim(kService, error);
  BOOST_REQUIRE(claim.has_value());
  BOOST_TEST(!directory_of(5).claim(kService, error).has_value());
  BOOST_TEST(error == EADDRINUSE);
  BOOST_TEST(!directory_of(5).find_listener(kNode, kService).has_value());
  claim->listener = directory_of(4).serve(kService);
  BOOST_TEST(directory_of(5).find_listener(kNode, kService).value() == 4u);
  claim.reset();
  BOOST_TEST(!directory_of(5).find_listener(kNode, kService).has_value());
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
    const auto claim = directory.claim(kService, error);
    BOOST_REQUIRE(claim.has_value());
    BOOST_TEST(listeners() == 0);
    const auto listener = directory.serve(kService);
    BOOST_TEST(listener.held());
    BOOST_TEST(listeners() == 1);
  }
  for (const char* const name : {"", "@", "@verbena-cm/", "@verbena-cm/0", "@verbena-cm/0/f/127.47.91.1/1061234",
                                 "@verbena-cm/0/f/127.47.91.1/node/3", "@other/0/f/127.47.91.1/1061234/3"})
    BOOST_TEST(!names_listener(name), name);
}
