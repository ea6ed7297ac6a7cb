// Frames between the processes of a node, while strangers pass descriptors that linger.
#include "emulator/host/link/node_forwarder.h"

#include <boost/test/unit_test.hpp>
#include <memory>

#include "tests/host/os/linger_trap.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr int kDatagram = SOCK_DGRAM | SOCK_NONBLOCK;

struct Notes : NodeForwarder::NoteSink {
  void note(std::uint8_t, std::uint16_t value) override { last = value; }
  std::uint16_t last = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(who_passes_what_lingers_stops_no_process_of_a_node) {
  const wire::Gid address = wire::Gid::from_ipv4(0x7f2f5b63u);
  for (const bool is_old : {false, true}) {
    const OldKernel kernel(is_old);
    auto opened = NodeForwarder::open(address, 0);
    BOOST_REQUIRE(opened.ok());
    auto sibling = NodeForwarder::open(address, 1);
    BOOST_REQUIRE(sibling.ok());
    FrameRing frames(64);
    Notes notes;
    const auto pass = [at = Address((*opened)->descriptor())](int lingering) {
      return at.pass(kDatagram, std::array{std::byte{'x'}}, lingering);
    };
    const LingerTrap trap(pass);
    BOOST_TEST((trap.is_passed || !is_old));
    (*sibling)->tell(0, 4711);
    BOOST_TEST(is_done_at_once([&] { BOOST_TEST((*opened)->receive(frames, &notes)); }));
    BOOST_TEST(notes.last == 4711);
    const LingerTrap unheard(pass);
    BOOST_TEST(is_done_at_once([&] { opened->reset(); }));
  }
}
