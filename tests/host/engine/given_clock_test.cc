// Engines whose clock and sleep are given: their timers go by that clock, however much or little real time passes.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "emulator/host/link/in_process_link.h"
#include "tests/host/engine/engine_node.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using nic::Counter;
using nic::SendOpcode;

namespace {

const wire::Gid kA = wire::Gid::from_ipv4(0x7f2f5b01);
const wire::Gid kB = wire::Gid::from_ipv4(0x7f2f5b02);
constexpr std::uint8_t kTimeout = 24;
constexpr Duration kAckTimeout{std::int64_t{4096} << kTimeout};  // 68.7 s

/// Stands still until it is moved.
struct GivenClock final : Clock {
  Time now() const override { return Time{at.load()}; }
  void move(Duration by) { at += by.ns; }
  std::atomic<std::int64_t> at{1'000'000'000};
};

/// Counts how often it is asked to wait, and waits for a moment.
struct GivenSleeper final : Sleeper {
  int wait(std::span<pollfd> descriptors, Time) override {
    ++waits;
    return poll(descriptors.data(), descriptors.size(), 1);
  }
  void pause(Duration) override {}
  std::atomic<int> waits{0};
};

struct GivenPair {
  explicit GivenPair(bool has_thread) {
    auto ends = connect_in_process({.first = kA, .second = kB, .first_mac = node_mac(kA), .second_mac = node_mac(kB)});
    a = node_on(1, std::move(ends.first), has_thread);
    b = node_on(2, std::move(ends.second), false);
    const Contact of_a = a->contact();
    const Contact of_b = b->contact();
    a->connect(of_b, kTimeout);
    b->connect(of_a, kTimeout);
  }
  std::unique_ptr<EngineNode> node_on(std::uint8_t number, std::unique_ptr<Link> link, bool has_thread) {
    OpenedLink opened;
    opened.link = std::move(link);
    opened.address = node_mac(number == 1 ? kA : kB);
    EngineConfig config = engine_config(number, "given", has_thread);
    config.clock = &clock;
    config.sleeper = &sleeper;
    return std::make_unique<EngineNode>(number, std::move(opened), config);
  }
  std::uint64_t timeouts() const { return a->engine->counters().get(Counter::local_ack_timeout_err); }

  GivenClock clock;
  GivenSleeper sleeper;
  std::unique_ptr<EngineNode> a;
  std::unique_ptr<EngineNode> b;
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_timer_runs_out_while_the_given_clock_stands_still) {
  GivenPair pair(false);
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));  // b does not look
  for (int pass = 0; pass < 10'000; ++pass) pair.a->engine->progress();
  BOOST_TEST(pair.timeouts() == 0u);
}

BOOST_AUTO_TEST_CASE(timers_run_out_when_the_given_clock_says_so) {
  GivenPair pair(false);
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  pair.clock.move(kAckTimeout - seconds(1));
  for (int pass = 0; pass < 100; ++pass) pair.a->engine->progress();
  BOOST_TEST(pair.timeouts() == 0u);
  // Hours of virtual time: the request is given up after its retries.
  const Time began = clock_now();
  int passes = 0;
  nic::Completion done;
  while (pair.a->engine->poll_cq(pair.a->cq, {&done, 1}) == 0 && ++passes < 1000) {
    pair.clock.move(seconds(100));
    pair.a->engine->progress();
  }
  BOOST_TEST((done.status == nic::CompletionStatus::retry_exceeded));
  BOOST_TEST(pair.timeouts() == 8u);  // retry_count is 7
  BOOST_TEST((clock_now() - began < kAckTimeout));
}

BOOST_AUTO_TEST_CASE(the_progress_thread_sleeps_by_the_given_sleeper) {
  GivenPair pair(true);
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  const Time end = clock_now() + seconds(20);
  // The thread looks around for a while before it sleeps, and that while is the given clock's as well.
  while (pair.sleeper.waits == 0 && clock_now() < end) {
    pair.clock.move(microseconds(1));
    std::this_thread::yield();
  }
  BOOST_TEST(pair.sleeper.waits > 0);
  while (pair.timeouts() < 8 && clock_now() < end) {
    pair.clock.move(seconds(1));
    std::this_thread::yield();
  }
  BOOST_TEST(pair.timeouts() == 8u);
}
