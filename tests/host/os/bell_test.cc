// The bell: whoever rings is never blocked and never ended, whatever others do to its descriptor.
#include "emulator/host/os/bell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/host/os/linger_trap.h"

using namespace verbena::host;

namespace {

struct OpenBell : Bell {
  OpenBell() { BOOST_REQUIRE(open()); }
  bool rings() const {
    pollfd readable{descriptor(), POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_bell_rings_until_it_is_acknowledged) {
  OpenBell bell;
  const Descriptor ringer = bell.make_ringer();
  BOOST_REQUIRE(Bell::is_ringer(ringer.get()));
  BOOST_TEST(!bell.rings());
  Bell::ring(ringer.get());
  Bell::ring(ringer.get());
  BOOST_TEST(bell.rings());
  bell.acknowledge();
  BOOST_TEST(!bell.rings());
  bell.acknowledge();  // does not wait for a ring
}

BOOST_AUTO_TEST_CASE(ringing_never_blocks_although_its_descriptor_was_made_to) {
  OpenBell bell;
  const Descriptor ringer = bell.make_ringer();
  BOOST_REQUIRE(::fcntl(ringer.get(), F_SETFL, 0) == 0);
  for (int i = 0; i < 5000; ++i) Bell::ring(ringer.get());
  BOOST_TEST(bell.rings());
}

BOOST_AUTO_TEST_CASE(ringing_whoever_has_gone_does_nothing) {
  Descriptor ringer;
  {
    OpenBell bell;
    ringer = bell.make_ringer();
  }
  errno = 0;
  Bell::ring(ringer.get());  // no SIGPIPE
  BOOST_TEST(errno == 0);
}

BOOST_AUTO_TEST_CASE(a_ringer_that_is_spoilt_silences_no_other_one) {
  OpenBell bell;
  const Descriptor spoilt = bell.make_ringer();
  const Descriptor other = bell.make_ringer();
  ::shutdown(spoilt.get(), SHUT_RDWR);
  for (int i = 0; i < 5000; ++i) Bell::ring(spoilt.get());
  bell.acknowledge();
  Bell::ring(other.get());
  BOOST_TEST(bell.rings());
}

BOOST_AUTO_TEST_CASE(only_datagram_sockets_of_this_machine_are_ringers) {
  int pipe[2];
  BOOST_REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const Descriptor ends[] = {Descriptor(pipe[0]), Descriptor(pipe[1])};
  BOOST_TEST(!Bell::is_ringer(ends[1].get()));
  BOOST_TEST(!Bell::is_ringer(Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)).get()));
  BOOST_TEST(!Bell::is_ringer(Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).get()));
  BOOST_TEST(!Bell::is_ringer(Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)).get()));
  BOOST_TEST(!Bell::is_ringer(-1));
}

/// The bell has a name, so that any user can send to it.
BOOST_AUTO_TEST_CASE(descriptors_passed_to_a_bell_neither_block_nor_silence_it) {
  for (const bool is_old : {false, true}) {
    const test::OldKernel kernel(is_old);
    OpenBell bell;
    const Descriptor ringer = bell.make_ringer();
    const auto pass = [at = test::Address(bell.descriptor())](int lingering) {
      return at.pass(SOCK_DGRAM | SOCK_NONBLOCK, {}, lingering);
    };
    const test::LingerTrap first(pass);
    Bell::ring(ringer.get());
    BOOST_TEST((first.is_passed || !is_old));
    BOOST_TEST(bell.rings());
    BOOST_TEST(test::is_done_at_once([&] { bell.acknowledge(); }));
    BOOST_TEST(!bell.rings());
    Bell::ring(ringer.get());
    BOOST_TEST(bell.rings());
  }
}

BOOST_AUTO_TEST_CASE(a_bell_goes_without_waiting_for_what_was_passed_to_it) {
  const test::OldKernel kernel;
  auto bell = std::make_unique<OpenBell>();
  const test::LingerTrap trap([at = test::Address(bell->descriptor())](int lingering) {
    return at.pass(SOCK_DGRAM | SOCK_NONBLOCK, {}, lingering);
  });
  BOOST_TEST(trap.is_passed);
  BOOST_TEST(test::is_done_at_once([&] { bell.reset(); }));
}
