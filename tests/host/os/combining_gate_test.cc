// The gate: one thread at a time, and who finds a holder that stands still sleeps until it goes on.
#include "emulator/host/os/combining_gate.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "emulator/host/os/clock.h"
#include "tests/support/waiting.h"

using namespace verbena;
using verbena::host::clock_now;
using verbena::host::CombiningGate;
using verbena::waiting::let_time_pass;

BOOST_AUTO_TEST_CASE(one_thread_is_inside_at_a_time) {
  CombiningGate gate;
  int inside = 0;  // guarded by the gate: the thread sanitizer looks as well
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int turns = 0; turns < 2000; ++turns) {
        while (!gate.enter_with_patience()) std::this_thread::yield();
        BOOST_REQUIRE(++inside == 1);
        --inside;
        entered.fetch_add(1);
        gate.leave();
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(entered == 6000);
  BOOST_TEST(!gate.is_busy());
}

BOOST_AUTO_TEST_CASE(passer_by_waits_only_after_meeting_one_holder_often) {
  CombiningGate gate;
  BOOST_REQUIRE(gate.try_enter());
  for (std::uint32_t i = 0; i < CombiningGate::kPassersByMax; ++i) BOOST_TEST(!gate.enter_with_patience());
  const Time before = clock_now();
  BOOST_TEST(!gate.enter_with_patience());  // nobody leaves: it waits for as long as it may
  BOOST_TEST((clock_now() - before).ns >= CombiningGate::kWaitMax.ns);
  gate.leave();
  BOOST_REQUIRE(gate.enter_with_patience());
  BOOST_TEST(!gate.enter_with_patience());  // patience begins anew with each holder
}

BOOST_AUTO_TEST_CASE(waiter_sleeps_in_the_kernel_and_enters_after_the_holder) {
  CombiningGate gate;
  BOOST_REQUIRE(gate.try_enter());
  constexpr Duration kStands = milliseconds(60);
  std::uint64_t waits = 0;
  std::thread waiter([&] {
    while (!gate.wait_and_enter()) ++waits;
  });
  let_time_pass(kStands);
  gate.leave();
  waiter.join();
  BOOST_TEST(gate.is_busy());
  // Each lasts a millisecond unless a signal ends it; a loop that spun would have made many thousands.
  BOOST_TEST(waits <= 1000U);
}
