// Threads that are cancelled (pthread_cancel) while they are inside the engine, as rping does with the thread that
// waits for its completions: nothing is left locked or half done behind them.
#include <pthread.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/host/engine/engine_node.h"
#include "tests/support/cancelled_threads.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

constexpr std::uint8_t kPatientTimeout = 16;

struct Work {
  EngineNode& node;
  std::atomic<bool> has_begun{false};
};

/// Posts and polls, and can be cancelled between two rounds at least.
void* work(void* argument) {
  Work& self = *static_cast<Work*>(argument);
  for (;;) {
    self.has_begun = true;
    self.node.post(nic::SendOpcode::rdma_write, 8);
    nic::Completion completion;
    self.node.engine->poll_cq(self.node.cq, {&completion, 1});
    pthread_testcancel();
  }
  return nullptr;
}

void cancel_one(EngineNode& node, Duration after) {
  Work victim{node};
  pthread_t thread{};
  BOOST_REQUIRE(pthread_create(&thread, nullptr, work, &victim) == 0);
  while (!victim.has_begun.load()) std::this_thread::yield();
  let_time_pass(after);
  BOOST_REQUIRE(pthread_cancel(thread) == 0);
  void* result = nullptr;
  BOOST_REQUIRE(pthread_join(thread, &result) == 0);
  BOOST_TEST(result == PTHREAD_CANCELED);
}

/// One write more goes through, behind what the thread has left.
bool works(EngineNode& node) {
  constexpr std::uint64_t kOwn = 2;
  const Time end = clock_now() + seconds(20);
  bool is_posted = false;
  while (clock_now() < end) {
    is_posted = is_posted || node.post(nic::SendOpcode::rdma_write, 8, 0, kOwn);
    const auto done = node.poll(1, milliseconds(1));
    if (!done.empty() && done[0].wr_id == kOwn) return true;
  }
  return false;
}

EngineConfig config_over(const char* link, std::uint8_t number) {
  EngineConfig config = engine_config(number, "cancellation." + std::to_string(getpid()));
  config.link = link;
  return config;
}

void cancel_in_traffic(const char* link) {
  EngineNode a(234, config_over(link, 234));
  EngineNode b(235, config_over(link, 235));
  connect(a, b, kPatientTimeout);
  for (int i = 0; i < 300; ++i) {
    cancel_one(a, microseconds(i * 7 % 400));
    BOOST_REQUIRE(works(a));
    if (i % 20 == 0) let_time_pass(milliseconds(3));  // both progress threads fall asleep
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(over_shared_memory_a_thread_may_be_cancelled_at_any_moment) {
  cancel_in_traffic("shm");
}

BOOST_AUTO_TEST_CASE(over_udp_a_thread_may_be_cancelled_at_any_moment) {
  cancel_in_traffic("udp");
}

BOOST_AUTO_TEST_CASE(thread_may_be_cancelled_while_it_resolves_a_peer) {
  for (int i = 0; i < 100; ++i) {
    EngineNode a(234, config_over("shm", 234));
    EngineNode b(235, config_over("shm", 235));
    connect(a, b, kPatientTimeout);
    cancel_one(a, microseconds(i % 10 * 10));
    BOOST_REQUIRE(works(a));
  }
}
