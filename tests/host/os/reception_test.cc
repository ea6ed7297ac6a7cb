// Who calls when there is no descriptor left: turned away, said once, and let in when there is one.
#include "emulator/host/os/reception.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "emulator/host/os/abstract_name.h"
#include "tests/host/os/linger_trap.h"

using namespace verbena::host;

namespace {

enum : int { kFine = 0, kNotSetUp, kLetsIn, kStaysReadable, kNotTurnedAway, kNotLetIn };

Descriptor caller_of(const AbstractName& name) {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket && !name.connect(socket.get())) socket.reset();
  return socket;
}
bool is_readable(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

int without_descriptors() {
  const AbstractName name("verbena-test/reception/%d", static_cast<int>(::getpid()));
  const Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!name.bind(listener.get()) || ::listen(listener.get(), 8) != 0) return kNotSetUp;
  Reception reception;
  const Descriptor first = caller_of(name);
  const Descriptor second = caller_of(name);
  if (!first || !second) return kNotSetUp;
  rlimit limit{64, 64};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return kNotSetUp;
  std::vector<Descriptor> all;
  for (;;) {
    Descriptor more(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!more) break;
    all.push_back(std::move(more));
  }
  for (int i = 0; i < 2; ++i)
    if (reception.next(listener.get(), "a caller is not heard").socket) return kLetsIn;
  if (is_readable(listener.get())) return kStaysReadable;
  char octet = 0;
  if (::recv(first.get(), &octet, 1, MSG_DONTWAIT) != 0) return kNotTurnedAway;
  all.resize(all.size() / 2);
  const Descriptor again = caller_of(name);
  return reception.next(listener.get(), "a caller is not heard").socket ? kFine : kNotLetIn;
}

}  // namespace

BOOST_AUTO_TEST_CASE(callers_are_refused_without_descriptors_and_it_is_said_once) {
  int said[2];
  BOOST_REQUIRE(::pipe2(said, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(said[1], STDERR_FILENO);
    ::_exit(without_descriptors());
  }
  ::close(said[1]);
  std::string text;
  std::array<char, 256> part;
  for (ssize_t got = 0; (got = ::read(said[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  ::close(said[0]);
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == kFine);
  BOOST_TEST(text ==
             "verbena: a caller is not heard: no file descriptor is left (`ulimit -n` allows this process 64)\n");
}

BOOST_AUTO_TEST_CASE(other_users_callers_are_refused_without_reading_from_them) {
  const AbstractName name("verbena-test/reception-of-own/%d", static_cast<int>(::getpid()));
  const Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  BOOST_REQUIRE(name.bind(listener.get()));
  BOOST_REQUIRE(::listen(listener.get(), 8) == 0);
  Reception reception;
  const Descriptor own = caller_of(name);
  BOOST_TEST(static_cast<bool>(reception.next_of_own_user(listener.get(), "").socket));
  const test::LingerTrap trap([at = test::Address(listener.get())](int lingering) {
    return at.pass(SOCK_SEQPACKET, std::array{std::byte{1}}, lingering);
  });
  BOOST_REQUIRE(trap.is_passed);
  const test::AnotherUser we;
  Reception::Caller stranger;
  BOOST_TEST(test::is_done_at_once([&] { stranger = reception.next_of_own_user(listener.get(), ""); }));
  BOOST_TEST(!stranger.socket);
  BOOST_TEST(!stranger.is_last);
  BOOST_TEST(reception.next_of_own_user(listener.get(), "").is_last);
}
