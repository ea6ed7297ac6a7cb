// Who holds an abstract name: a process of ours is named, another user is said to squat.
#include "emulator/host/os/name_holder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <optional>
#include <string>

#include "emulator/host/link/node_forwarder.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/node/port_signal.h"
#include "emulator/host/os/name_owner.h"
#include "emulator/host/os/same_user.h"

using namespace verbena;
using namespace verbena::host;

namespace {
constexpr uid_t kStranger = 65534;

struct Name {
  explicit Name(const std::string& text) : name("%s", text.c_str()) {}
  int hold() const {
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return name.bind(descriptor) ? descriptor : -1;
  }
  std::string holder() const { return describe_name_holder(name); }
  AbstractName name;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// A process of another user that holds a name, until the end of this object.
class Squatter {
 public:
  explicit Squatter(const Name& name) {
    int ready[2];
    BOOST_REQUIRE(::pipe(ready) == 0);
    child_ = ::fork();
    BOOST_REQUIRE(child_ >= 0);
    if (child_ == 0) {
      const char done = ::setuid(kStranger) == 0 && name.hold() >= 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t told = ::write(ready[1], &done, 1);
      for (;;) ::pause();
    }
    char done = 'n';
    BOOST_REQUIRE(::read(ready[0], &done, 1) == 1);
    BOOST_REQUIRE(done == 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Squatter() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_ = -1;
};
}  // namespace

BOOST_AUTO_TEST_CASE(nobody_holds_a_name_that_is_free) {
  BOOST_TEST(Name("verbena-test/free/" + std::to_string(getpid())).holder().empty());
}

BOOST_AUTO_TEST_CASE(same_users_process_is_named_and_not_called_a_squatter) {
  const Name name("verbena-test/own/" + std::to_string(getpid()));
  const int held = name.hold();
  BOOST_REQUIRE(held >= 0);
  BOOST_TEST(contains(name.holder(), "process " + std::to_string(getpid())), name.holder());
  BOOST_TEST(!contains(name.holder(), "squats"));
  ::close(held);
}

BOOST_AUTO_TEST_CASE(another_user_squats_and_a_link_says_so) {
  if (::geteuid() != 0) return;  // only root can be two users
  const wire::Gid address = wire::Gid::from_ipv4(0x0a635b01);
  const Name name("verbena-frames/0/10.99.91.1/0");
  const Squatter squatter(name);
  const std::string squats = "user 65534 squats on the name '@verbena-frames/0/10.99.91.1/0'";
  BOOST_TEST(contains(name.holder(), squats), name.holder());
  const auto port = NodeForwarder::open(address, 0);
  BOOST_REQUIRE(!port.ok());
  BOOST_TEST(contains(port.error(), squats), port.error());
}

BOOST_AUTO_TEST_CASE(a_name_that_another_user_holds_says_nothing_of_ours) {
  const std::string fabric = "holder-test-" + std::to_string(getpid());
  const auto gid = node_address(7).octets;
  BOOST_TEST(!has_dead_port(fabric.c_str(), gid));
  HeldName ours = dead_port_name(fabric.c_str(), gid).hold();
  BOOST_REQUIRE(ours.held());
  BOOST_TEST(has_dead_port(fabric.c_str(), gid));
  BOOST_TEST((owner_of(dead_port_name(fabric.c_str(), gid)) == std::optional<unsigned>(own_user())));
  ours.release();
  if (::geteuid() != 0) return;  // only root can be two users
  const Squatter squatter(Name(std::string(dead_port_name(fabric.c_str(), gid).text())));
  BOOST_TEST(dead_port_name(fabric.c_str(), gid).is_held());
  BOOST_TEST(!has_dead_port(fabric.c_str(), gid));
}

BOOST_AUTO_TEST_CASE(message_to_a_sibling_does_not_go_to_a_squatter_on_its_name) {
  if (::geteuid() != 0) return;  // only root can be two users
  const wire::Gid address = wire::Gid::from_ipv4(0x0a635b02);
  const Squatter squatter(Name("verbena-frames/0/10.99.91.2/1"));
  const auto port = NodeForwarder::open(address, 0);
  BOOST_REQUIRE(port.ok());
  BOOST_TEST(!(*port)->knows(1));
  const std::array<std::byte, 64> frame{};
  (*port)->stage(1, frame, {});
  (*port)->send_staged();
  BOOST_TEST(!(*port)->knows(1));
  BOOST_TEST((*port)->frames_dropped() == 1u);
}
