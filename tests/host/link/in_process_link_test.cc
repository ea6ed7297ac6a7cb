// The cable between two links of one process.
#include "emulator/host/link/in_process_link.h"

#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kA = node(1);
const wire::Gid kB = node(2);

struct Cable {
  explicit Cable(std::size_t depth_frames = 64) {
    auto ends = connect_in_process({.first = kA,
                                    .second = kB,
                                    .first_mac = node_mac(kA),
                                    .second_mac = node_mac(kB),
                                    .depth_frames = depth_frames});
    a = std::move(ends.first);
    b = std::move(ends.second);
  }
  std::unique_ptr<Link> a;
  std::unique_ptr<Link> b;
};

std::vector<std::uint32_t> psns(const Collector& collector) {
  std::vector<std::uint32_t> result;
  for (const auto& frame : collector.frames) result.push_back(psn_of(frame));
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_arrive_in_order_once_published) {
  const Cable cable;
  const FrameRequest request{.source = kA, .destination = kB, .psn = 1, .payload_bytes = 4096};
  BOOST_REQUIRE(commit(*cable.a, request));
  BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kB, .psn = 2}));
  Collector collector;
  BOOST_TEST(pump(*cable.b, collector) == 0);
  cable.a->publish();
  BOOST_TEST(pump(*cable.b, collector, 1) == 1);
  BOOST_TEST(pump(*cable.b, collector) == 1);
  BOOST_TEST(collector.frames[0] == build(request));
  BOOST_TEST(psns(collector) == (std::vector<std::uint32_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(frames_to_the_own_address_loop_and_come_first) {
  const Cable cable;
  BOOST_REQUIRE(commit(*cable.b, {.source = kB, .destination = kA, .psn = 1}));
  BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kA, .psn = 2}));
  BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kB, .psn = 3}));
  cable.a->publish();
  cable.b->publish();
  Collector at_a;
  Collector at_b;
  pump(*cable.a, at_a);
  pump(*cable.b, at_b);
  BOOST_TEST(psns(at_a) == (std::vector<std::uint32_t>{2, 1}));
  BOOST_TEST(psns(at_b) == (std::vector<std::uint32_t>{3}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_frame_is_never_seen) {
  const Cable cable;
  std::uint32_t hint = 0;
  BOOST_REQUIRE(!cable.a->reserve({kB, wire::Qpn(1), hint}, 100).empty());
  cable.a->cancel();
  BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kB, .psn = 7}));
  cable.a->publish();
  Collector collector;
  pump(*cable.b, collector);
  BOOST_TEST(psns(collector) == (std::vector<std::uint32_t>{7}));
}

BOOST_AUTO_TEST_CASE(a_full_cable_is_back_pressure) {
  const Cable cable(8);
  std::uint32_t psn = 0;
  while (psn < 100 && commit(*cable.a, {.source = kA, .destination = kB, .psn = psn})) ++psn;
  BOOST_TEST(psn == 8);
  cable.a->publish();
  Collector collector;
  BOOST_TEST(pump(*cable.b, collector, 3) == 3);
  for (int i = 0; i < 3; ++i) BOOST_TEST(commit(*cable.a, {.source = kA, .destination = kB, .psn = psn++}));
  BOOST_TEST(!commit(*cable.a, {.source = kA, .destination = kB, .psn = psn}));
}

BOOST_AUTO_TEST_CASE(a_pulled_cable_swallows_frames) {
  Cable cable(8);
  cable.b.reset();
  for (std::uint32_t psn = 0; psn < 100; ++psn)
    BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kB, .psn = psn}));
  cable.a->publish();
  cable.a->flush();
}

BOOST_AUTO_TEST_CASE(a_sleeper_is_woken_once_and_only_if_it_sleeps) {
  const Cable cable;
  pollfd wait{cable.b->wait_descriptors().frames, POLLIN, 0};
  Collector collector;
  const auto send = [&] {
    BOOST_REQUIRE(commit(*cable.a, {.source = kA, .destination = kB}));
    cable.a->publish();
    cable.a->flush();
  };
  send();
  BOOST_TEST(::poll(&wait, 1, 0) == 0);  // nobody sleeps
  BOOST_TEST(!cable.b->arm());           // and nobody may
  BOOST_TEST(pump(*cable.b, collector) == 1);
  BOOST_TEST(cable.b->arm());
  send();
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);
  BOOST_TEST(pump(*cable.b, collector) == 1);
  BOOST_TEST(::poll(&wait, 1, 0) == 0);  // fetch() took the wake-up
  BOOST_TEST(cable.b->arm());
  cable.b->disarm();
  send();
  BOOST_TEST(::poll(&wait, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(two_threads_keep_the_order) {
  constexpr std::uint32_t kFrames = 20'000;
  const Cable cable;
  std::atomic<bool> give_up{false};
  std::thread sender([&] {
    for (std::uint32_t psn = 0; psn < kFrames && !give_up;) {
      if (commit(*cable.a, {.source = kA, .destination = kB, .psn = psn, .payload_bytes = 16}))
        ++psn;
      else
        std::this_thread::yield();
      cable.a->publish();
      cable.a->flush();
    }
  });
  Collector collector;
  const bool complete = until([&] { return collector.frames.size() == kFrames; },
                              [&] {
                                if (pump(*cable.b, collector) != 0) return;
                                pollfd wait{cable.b->wait_descriptors().frames, POLLIN, 0};
                                if (cable.b->arm()) ::poll(&wait, 1, 1000);
                              },
                              std::chrono::seconds(60));
  give_up = true;
  sender.join();
  BOOST_REQUIRE(complete);
  for (std::uint32_t i = 0; i < kFrames; ++i)
    if (psn_of(collector.frames[i]) != i || !is_intact(collector.frames[i]))
      BOOST_FAIL("frame " << i << " is not right");
}

BOOST_AUTO_TEST_CASE(both_addresses_resolve_and_no_other) {
  const Cable cable;
  BOOST_TEST((*cable.a->resolve(kA) == node_mac(kA)));
  BOOST_TEST((*cable.a->resolve(kB) == node_mac(kB)));
  BOOST_TEST(!cable.a->resolve(node(3)).has_value());
}
