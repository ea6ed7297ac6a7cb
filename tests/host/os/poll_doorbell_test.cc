// A descriptor that tells of frames only while somebody wants to hear of them.
#include "emulator/host/os/poll_doorbell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_channel.h"

using namespace verbena::host;

namespace {

struct Bell {
  Descriptor frames{eventfd(0, EFD_NONBLOCK)};
  PollDoorbell bell;

  Bell() { BOOST_REQUIRE(bell.open(frames.get())); }
  void arrive() {
    const std::uint64_t one = 1;
    BOOST_REQUIRE(write(frames.get(), &one, sizeof one) == sizeof one);
  }
  void take() {
    std::uint64_t count = 0;
    BOOST_REQUIRE(read(frames.get(), &count, sizeof count) == sizeof count);
  }
  bool rings() const {
    pollfd descriptor{bell.descriptor(), POLLIN, 0};
    return poll(&descriptor, 1, 0) == 1;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_is_told_who_did_not_ask) {
  Bell bell;
  bell.arrive();
  BOOST_TEST(!bell.rings());
}

BOOST_AUTO_TEST_CASE(frames_that_wait_already_ring_as_well_as_those_that_come) {
  Bell bell;
  bell.arrive();
  bell.bell.want(true);
  bell.bell.apply();
  BOOST_TEST(bell.rings());
  bell.take();
  BOOST_TEST(!bell.rings());
  bell.arrive();
  BOOST_TEST(bell.rings());
}

BOOST_AUTO_TEST_CASE(what_was_wanted_last_is_done) {
  Bell bell;
  bell.arrive();
  bell.bell.want(true);
  bell.bell.want(false);
  bell.bell.apply();
  BOOST_TEST(!bell.rings());
  bell.bell.want(true);
  bell.bell.apply();
  bell.bell.want(false);
  bell.bell.apply();
  BOOST_TEST(!bell.rings());
}
