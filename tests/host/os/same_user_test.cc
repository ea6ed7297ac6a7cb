// Which user we are: settled once, and never the number that a user namespace gives to everybody whom it does not map.
#include "emulator/host/os/same_user.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>

#include "emulator/host/link/shm/shm_cable.h"

using namespace verbena;
using namespace verbena::host;

namespace {

/// What a child process finds, as its exit code.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) ::_exit(body());
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum : int { kFine = 0, kNoNamespace = 1, kOtherUser = 2, kTrusts = 3, kOpens = 4, kSaysNothing = 5 };

/// The same of a child in a user namespace of its own. One without a thread, which a sanitizer may start at fork():
/// unshare() is not for processes with several (EINVAL).
int in_child_of_other_namespace(const std::function<int()>& body) {
  return in_child([&]() -> int {
    const long child = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child < 0) return kNoNamespace;
    if (child == 0) ::_exit(body());
    int status = 0;
    if (::waitpid(static_cast<pid_t>(child), &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  });
}

bool trusts_itself() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const bool trusts = peer_is_same_user(ends[0]);
  ::close(ends[0]);
  ::close(ends[1]);
  return trusts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_user_has_a_number_only_if_the_whole_range_is_mapped) {
  BOOST_TEST(maps_all_users("         0          0 4294967295\n"));
  BOOST_TEST(!maps_all_users("         0     100000      65536\n"));
  BOOST_TEST(!maps_all_users("         0          0      65536\n"));
  BOOST_TEST(!maps_all_users("         0       1000          1\n         1     100000      65536\n"));
  BOOST_TEST(!maps_all_users("\n"));
  BOOST_TEST(!maps_all_users(""));
}

BOOST_AUTO_TEST_CASE(a_process_trusts_its_own_user) {
  BOOST_TEST(trusts_itself());
  BOOST_TEST(why_no_peer_is_trusted() == nullptr);
}

/// In a user namespace without a map everybody is the overflow user, as somebody from outside is in any.
BOOST_AUTO_TEST_CASE(process_with_the_overflow_user_id_trusts_nobody_and_says_so) {
  const int found = in_child_of_other_namespace([] {
    if (own_user() != overflow_user()) return kOtherUser;
    if (is_own_user(overflow_user()) || trusts_itself()) return kTrusts;
    EngineConfig config;
    config.fabric = "sameuser." + std::to_string(::getpid());
    config.address = wire::Gid::from_ipv4(0x7f2f5b01);
    const auto opened = ShmCable::open(config);
    if (opened.ok()) return kOpens;
    return opened.error().find("user namespace") != std::string::npos ? kFine : kSaysNothing;
  });
  BOOST_REQUIRE_MESSAGE(found != kNoNamespace,
                        "this test needs user namespaces (unshare -U), which are forbidden here");
  BOOST_TEST(found == kFine);
}

BOOST_AUTO_TEST_CASE(a_user_that_the_namespace_maps_trusts_itself) {
  const auto outside = ::geteuid();
  const int found = in_child_of_other_namespace([&] {
    std::ofstream("/proc/self/uid_map") << "7 " << outside << " 1";
    if (own_user() != 7) return kOtherUser;
    return trusts_itself() && why_no_peer_is_trusted() == nullptr ? kFine : kTrusts;
  });
  BOOST_REQUIRE_MESSAGE(found != kNoNamespace,
                        "this test needs user namespaces (unshare -U), which are forbidden here");
  BOOST_TEST(found == kFine);
}

BOOST_AUTO_TEST_CASE(the_user_is_settled_in_a_process_and_anew_in_its_child) {
  const int found = in_child([]() -> int {
    settle_user(4711);
    if (own_user() != 4711 || settle_own_user() != 4711 || !has_dropped_user()) return kOtherUser;
    const auto now = static_cast<unsigned>(::geteuid());
    return in_child([now] { return own_user() == now && settle_own_user() == now ? kFine : kOtherUser; });
  });
  BOOST_TEST(found == kFine);
}
