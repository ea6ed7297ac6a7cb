// Whoever passes descriptors that linger makes nobody wait who did not ask for them.
#include "emulator/host/os/unwanted_descriptors.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "emulator/host/os/abstract_name.h"
#include "tests/host/os/linger_trap.h"

using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr int kDatagram = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kSequence = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr std::array<std::byte, 1> kOctet{};

/// A socket with a name that the kernel chooses.
struct Named {
  explicit Named(int kind) : socket(::socket(AF_UNIX, kind, 0)) {
    constexpr sockaddr_un kAny{.sun_family = AF_UNIX, .sun_path = {}};
    BOOST_REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&kAny), sizeof kAny.sun_family) == 0);
    if (kind == kSequence) BOOST_REQUIRE(::listen(socket.get(), 8) == 0);
    address = Address(socket.get());
  }
  Descriptor socket;
  Address address;
};

/// A message with a lingering descriptor waits in it.
LingerTrap trap_in(const Named& victim, int kind, int seconds = kTrapSeconds) {
  return LingerTrap([&](int lingering) { return victim.address.pass(kind, kOctet, lingering); }, seconds);
}

bool send_plainly(const Named& to) {
  const Descriptor socket(::socket(AF_UNIX, kDatagram, 0));
  return ::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to.address.name), to.address.bytes) == 1;
}
ssize_t receive(const Named& from) {
  char octet = 0;
  return ::recv(from.socket.get(), &octet, 1, MSG_DONTWAIT);
}

}  // namespace

/// What all the others are about: without any of it, a receiver that has no room for descriptors waits.
BOOST_AUTO_TEST_CASE(a_trap_makes_whoever_lets_go_of_it_wait) {
  const Named victim(kDatagram);
  const LingerTrap trap = trap_in(victim, kDatagram, 1);
  BOOST_REQUIRE(trap.is_passed);
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(receive(victim) == 1);
  BOOST_TEST((std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(500)));
}

BOOST_AUTO_TEST_CASE(a_socket_is_closed_without_waiting_for_what_is_in_its_queue) {
  Named victim(kDatagram);
  const LingerTrap trap = trap_in(victim, kDatagram);
  BOOST_REQUIRE(trap.is_passed);
  BOOST_TEST(is_done_at_once([&] { close_aside(std::move(victim.socket)); }));
}

BOOST_AUTO_TEST_CASE(listener_is_closed_without_waiting_for_what_callers_sent) {
  for (const bool is_old : {false, true}) {
    const OldKernel kernel(is_old);
    Named victim(kSequence);
    const LingerTrap trap = trap_in(victim, kSequence);
    BOOST_REQUIRE(trap.is_passed);
    BOOST_TEST(is_done_at_once([&] { close_listener(victim.socket.release()); }));
  }
}

BOOST_AUTO_TEST_CASE(message_is_dropped_without_waiting_and_the_next_is_there) {
  const Named victim(kDatagram);
  const LingerTrap trap = trap_in(victim, kDatagram);
  BOOST_REQUIRE(trap.is_passed);
  BOOST_REQUIRE(send_plainly(victim));
  BOOST_TEST(brings_descriptors(victim.socket.get()));
  BOOST_TEST(brings_descriptors(victim.socket.get()));
  BOOST_TEST(is_done_at_once([&] { drop_message_aside(victim.socket.get()); }));
  BOOST_TEST(!brings_descriptors(victim.socket.get()));
  BOOST_TEST(receive(victim) == 1);
  BOOST_TEST(!brings_descriptors(victim.socket.get()));
}

BOOST_AUTO_TEST_CASE(credentials_are_not_taken_for_descriptors) {
  const Named victim(kDatagram);
  const int on = 1;
  BOOST_REQUIRE(::setsockopt(victim.socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
  BOOST_REQUIRE(send_plainly(victim));
  BOOST_TEST(!brings_descriptors(victim.socket.get(), Credentials::with_each_message));
  BOOST_TEST(receive(victim) == 1);
  const LingerTrap trap = trap_in(victim, kDatagram);
  const Descriptor lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  BOOST_TEST(brings_descriptors(victim.socket.get(), Credentials::with_each_message));
  BOOST_TEST(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get() == lowest.get() + 1);  // none was taken
  BOOST_TEST(is_done_at_once([&] { drop_message_aside(victim.socket.get()); }));
}

BOOST_AUTO_TEST_CASE(descriptors_are_barred_by_the_kernel_or_it_is_said) {
  const Named victim(kSequence);
  const bool is_barred = bar_descriptors(victim.socket.get());
  const LingerTrap trap = trap_in(victim, kSequence);
  BOOST_TEST(trap.is_passed != is_barred);
  const OldKernel kernel;
  BOOST_TEST(!bar_descriptors(Named(kSequence).socket.get()));
}

/// As in containers whose seccomp filter forbids unshare(2).
BOOST_AUTO_TEST_CASE(where_a_thread_may_not_have_its_own_table_another_one_waits) {
  Named to_close(kDatagram);
  Named to_drop_from(kDatagram);
  const LingerTrap first = trap_in(to_close, kDatagram);
  const LingerTrap second = trap_in(to_drop_from, kDatagram);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    std::array<sock_filter, 4> forbid{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    const sock_fprog program{forbid.size(), forbid.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      ::_exit(2);
    const bool is_done = is_done_at_once([&] {
      drop_message_aside(to_drop_from.socket.get());
      close_aside(std::move(to_close.socket));
    });
    ::_exit(is_done ? 0 : 1);
  }
  to_close.socket.reset();  // the child has it still
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_CASE(nothing_can_be_left_at_a_mere_name) {
  const AbstractName name("verbena-test/mere/%d", static_cast<int>(::getpid()));
  const HeldName held = name.hold();
  BOOST_REQUIRE(held.held());
  BOOST_TEST(name.is_held());
  const LingerTrap trap(
      [at = Address(held.descriptor())](int lingering) { return at.pass(kDatagram, kOctet, lingering); });
  BOOST_TEST(!trap.is_passed);
}
