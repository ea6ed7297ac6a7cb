// A descriptor that tells of frames only while somebody wants to hear of them.
#include "emulator/host/os/poll_doorbell.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_channel.h"

using namespace verbena::host;

namespace {

struct Bell {
  Descriptor frames{eventfd(0, EFD_NONBLOCK)};
  Descriptor others{eventfd(0, EFD_NONBLOCK)};
  PollDoorbell bell;

  Bell() { BOOST_REQUIRE(bell.open({.frames = frames.get(), .others = others.get()})); }
  static void arrive(const Descriptor& at) {
    const std::uint64_t one = 1;
    BOOST_REQUIRE(write(at.get(), &one, sizeof one) == sizeof one);
  }
  static void take(const Descriptor& from) {
    std::uint64_t count = 0;
    BOOST_REQUIRE(read(from.get(), &count, sizeof count) == sizeof count);
  }
  bool rings() const {
    pollfd descriptor{bell.descriptor(), POLLIN, 0};
    return poll(&descriptor, 1, 0) == 1;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_is_told_who_did_not_ask) {
  Bell bell;
  Bell::arrive(bell.frames);
  Bell::arrive(bell.others);
  BOOST_TEST(!bell.rings());
}

BOOST_AUTO_TEST_CASE(frames_that_wait_already_ring_as_well_as_those_that_come) {
  for (Descriptor Bell::* const where : {&Bell::frames, &Bell::others}) {
    Bell bell;
    Bell::arrive(bell.*where);
    bell.bell.want(true);
    bell.bell.apply();
    BOOST_TEST(bell.rings());
    Bell::take(bell.*where);
    BOOST_TEST(!bell.rings());
    Bell::arrive(bell.*where);
    BOOST_TEST(bell.rings());
  }
}

BOOST_AUTO_TEST_CASE(what_was_wanted_last_is_done) {
  Bell bell;
  Bell::arrive(bell.frames);
  Bell::arrive(bell.others);
  bell.bell.want(true);
  bell.bell.want(false);
  bell.bell.apply();
  BOOST_TEST(!bell.rings());
  for (int times = 0; times < 3; ++times) {
    bell.bell.want(true);
    bell.bell.apply();
    BOOST_TEST(bell.rings());
    bell.bell.want(false);
    bell.bell.apply();
    BOOST_TEST(!bell.rings());
  }
}

BOOST_AUTO_TEST_CASE(rest_ends_with_frames_although_nobody_wants_to_be_rung) {
  for (Descriptor Bell::* const where : {&Bell::frames, &Bell::others}) {
    Bell bell;
    RestSet by;
    bell.bell.end_rest_by_frames(by);
    BOOST_TEST(!JointRest().rest(by, verbena::microseconds(50)));
    Bell::arrive(bell.*where);
    BOOST_TEST(JointRest().rest(by, verbena::milliseconds(900)));
    BOOST_TEST(!bell.rings());
  }
}

BOOST_AUTO_TEST_CASE(no_sender_has_to_call_a_doorbell_that_nobody_wants) {
  Bell bell;
  bell.bell.want(true);
  bell.bell.apply();
  bell.bell.want(false);
  bell.bell.apply();
  // It is not in there any more: it can be put in.
  epoll_event interest{};
  BOOST_TEST(epoll_ctl(bell.bell.descriptor(), EPOLL_CTL_ADD, bell.frames.get(), &interest) == 0);
}
