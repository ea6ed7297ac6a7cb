// The socket at which a fabric is asked, against callers whose descriptors linger.
#include "emulator/host/fabric_process/fabric_control.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/host/os/linger_trap.h"

using namespace verbena::host;
using namespace verbena::host::test;

namespace {

/// One for each check: what is closed aside may keep its name for a moment.
std::string new_fabric() {
  static int made = 0;
  return "controltest." + std::to_string(::getpid()) + "." + std::to_string(++made);
}

struct Asked {
  explicit Asked(const AbstractName& at)
      : trap([&at](int lingering) {
          Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
          return at.connect(socket.get()) &&
                 send_with_descriptors(socket.release(), std::array{std::byte{'x'}}, std::array{lingering});
        }) {}
  LingerTrap trap;
};

void check_served(bool is_old) {
  const OldKernel kernel(is_old);
  const std::string fabric = new_fabric();
  auto opened = FabricControl::open(fabric);
  BOOST_REQUIRE(opened.ok());
  const Asked asked(fabric_control_address(fabric));
  BOOST_TEST((asked.trap.is_passed || !is_old));
  int questions = 0;
  const auto serve = [&] {
    (*opened)->service(
        [&](const FabricRequest&) {
          ++questions;
          return FabricAnswer(FabricReply(FabricDone{}));
        },
        [] { return true; });
  };
  BOOST_TEST(is_done_at_once([&] {
    serve();  // lets it in
    serve();
  }));
  BOOST_TEST(questions == 0);
  // One that stays unheard is no reason to wait either.
  const Asked unheard(fabric_control_address(fabric));
  BOOST_TEST(is_done_at_once([&] { opened->reset(); }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(strangers_who_pass_what_lingers_do_not_stop_a_fabric) {
  const AnotherUser we;
  check_served(false);
  check_served(true);
}

BOOST_AUTO_TEST_CASE(question_with_a_lingering_socket_is_refused_without_delay) {
  check_served(false);
  check_served(true);
}
