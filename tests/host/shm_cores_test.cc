// A process that shares its core with the fabric process: who stands in whose way, and whose core is taken for good.
#include <sched.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/shm_link.h"
#include "tests/host/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

/// This thread stays on one core for as long as this lives.
class OneCore {
 public:
  OneCore() {
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    core = sched_getcpu();
    CPU_SET(static_cast<std::size_t>(core), &one);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  int core = -1;

 private:
  cpu_set_t before_{};
};

std::unique_ptr<ShmLink> open(ShmRole role, std::uint8_t number) {
  EngineConfig config;
  config.fabric = "cores." + std::to_string(getpid());
  config.address = node(number);
  auto opened = ShmLink::open(config, role);
  BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
  return std::move(*opened);
}

struct Taker final : PeerSink {
  std::size_t turn(const PeerName&) override { return admitted; }
  void frame(std::span<const std::byte> frame, bool) override { octets.push_back(frame.size()); }
  std::size_t admitted = SIZE_MAX;
  std::vector<std::size_t> octets;
};

void send(ShmLink& plug, std::uint32_t psn = 0) {
  const FrameRequest request{.source = node(1), .destination = node(2), .psn = psn, .payload_bytes = 100};
  BOOST_REQUIRE(commit(plug, request));
  plug.publish();
  plug.flush();
}

struct Pair {
  Pair() : hub(open(ShmRole::hub, 0)), plug(open(ShmRole::plug, 1)) {
    pass();
    plug->service();  // the answer
  }
  void pass() {
    hub->service();
    hub->receive_in_turn(clock_now(), taker, 64);
  }
  OneCore pinned;
  Taker taker;
  std::unique_ptr<ShmLink> hub;
  std::unique_ptr<ShmLink> plug;
};

}  // namespace

BOOST_AUTO_TEST_CASE(who_waits_on_the_core_of_the_one_that_is_to_answer_stands_in_its_way_until_it_has_looked) {
  Pair pair;
  BOOST_TEST(!pair.plug->stands_in_the_way());
  BOOST_TEST(pair.plug->shares_core());
  send(*pair.plug);
  BOOST_TEST(pair.plug->stands_in_the_way());
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);
  BOOST_TEST(!pair.plug->stands_in_the_way());
}

BOOST_AUTO_TEST_CASE(a_peer_on_another_core_is_in_nobodys_way) {
  if (std::thread::hardware_concurrency() < 2) return;
  Pair pair;
  cpu_set_t other;
  CPU_ZERO(&other);
  CPU_SET(pair.pinned.core == 0 ? 1u : 0u, &other);
  if (sched_setaffinity(0, sizeof other, &other) != 0) return;  // not ours to use
  send(*pair.plug);
  BOOST_TEST(!pair.plug->stands_in_the_way());
  BOOST_TEST(!pair.plug->shares_core());
}

BOOST_AUTO_TEST_CASE(on_a_cable_nobody_asks_for_cores) {
  const OneCore pinned;
  const auto one = open(ShmRole::cable, 1);
  const FrameRequest to_itself{.source = node(1), .destination = node(1), .qpn = wire::Qpn(0x11), .payload_bytes = 10};
  BOOST_REQUIRE(commit(*one, to_itself));
  one->publish();
  BOOST_TEST(!one->stands_in_the_way());
}

BOOST_AUTO_TEST_CASE(a_turn_is_over_with_the_frame_that_reaches_its_octets) {
  Pair pair;
  for (std::uint32_t psn = 0; psn < 10; ++psn) send(*pair.plug, psn);
  pair.taker.admitted = 0;
  pair.pass();
  BOOST_TEST(pair.taker.octets.empty());
  pair.taker.admitted = 1;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 1u);
  pair.taker.admitted = pair.taker.octets.front() + 1;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 3u);
  pair.taker.admitted = SIZE_MAX;
  pair.pass();
  BOOST_TEST(pair.taker.octets.size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_plug_needs_no_timer_over_frames_that_the_fabric_process_has_not_taken) {
  Pair pair;
  send(*pair.plug);
  Taker nothing;
  pair.plug->receive(clock_now(), nothing, 1);
  BOOST_TEST(!pair.plug->next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(the_core_of_who_polls_without_end_is_busy_and_that_of_who_does_not_is_free) {
  Pair pair;
  const auto busy = [&](Time now) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    pair.hub->find_busy_cores(now, cores);
    return CPU_COUNT(&cores) == 1 && CPU_ISSET(static_cast<std::size_t>(pair.pinned.core), &cores);
  };
  Taker nothing;
  pair.plug->receive(clock_now(), nothing, 1);  // says where it is
  Time now = clock_now();
  BOOST_TEST(!busy(now));
  const auto poll = [&](int times) {
    for (int i = 0; i < times; ++i) pair.plug->disarm();
  };
  poll(2000);
  BOOST_TEST(busy(now = now + milliseconds(10)));
  poll(500);
  BOOST_TEST(!busy(now = now + milliseconds(10)));
}
