// The engine's lock: who has asked for it gets a turn before whoever lets go of it takes it again.
#include "emulator/host/os/fair_lock.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "emulator/host/os/clock.h"

using namespace verbena;
using verbena::host::clock_now;
using verbena::host::FairLock;

namespace {
constexpr Duration kBound = seconds(20);

/// Until somebody has asked for the lock.
bool wait_for_request(const FairLock& lock) {
  for (const Time end = clock_now() + kBound; !lock.is_asked_for();) {
    if (clock_now() > end) return false;
    sched_yield();
  }
  return true;
}

sem_t goes_on;
std::atomic<bool> stands{false};
void stand_still(int) {
  stands = true;
  while (sem_wait(&goes_on) != 0) continue;
}
}  // namespace

BOOST_AUTO_TEST_CASE(one_thread_is_inside_at_a_time) {
  FairLock lock;
  int inside = 0;  // guarded by the lock: the thread sanitizer looks as well
  std::vector<std::thread> threads;
  std::atomic<int> entered{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int turns = 0; turns < 5000; ++turns) {
        const std::lock_guard guard(lock);
        BOOST_REQUIRE(++inside == 1);
        --inside;
        entered.fetch_add(1);
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(entered == 20000);
  BOOST_TEST(!lock.is_asked_for());
}

// On a machine that does not run the thread that asked, its turn may come too late: not each of the rounds counts.
BOOST_AUTO_TEST_CASE(thread_that_has_asked_goes_before_a_returning_holder) {
  constexpr int kRounds = 100;
  int first = 0;
  for (int round = 0; round < kRounds; ++round) {
    FairLock lock;
    std::atomic<bool> had_turn{false};
    lock.lock();
    std::thread asker([&] {
      const std::lock_guard guard(lock);
      had_turn = true;
    });
    BOOST_REQUIRE(wait_for_request(lock));
    lock.unlock();
    lock.lock();
    first += had_turn ? 1 : 0;
    lock.unlock();
    asker.join();
  }
  BOOST_TEST(first >= kRounds / 5);
}

BOOST_AUTO_TEST_CASE(asker_that_is_not_run_is_waited_for_once_and_comes_later) {
  FairLock lock;
  bool had_turn = false;  // guarded by the lock
  sem_init(&goes_on, 0, 0);
  signal(SIGUSR1, stand_still);
  lock.lock();
  std::thread asker([&] {
    const std::lock_guard guard(lock);
    had_turn = true;
  });
  BOOST_REQUIRE(wait_for_request(lock));
  pthread_kill(asker.native_handle(), SIGUSR1);
  for (const Time end = clock_now() + kBound; !stands && clock_now() < end;) sched_yield();
  BOOST_REQUIRE(stands);
  BOOST_TEST(lock.is_asked_for());
  lock.unlock();
  lock.lock();  // after its patience
  BOOST_TEST(!lock.is_asked_for());
  BOOST_TEST(!had_turn);
  lock.unlock();
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard guard(lock);
    BOOST_TEST(!lock.is_asked_for());
  }
  sem_post(&goes_on);
  asker.join();
  BOOST_TEST(had_turn);
  sem_destroy(&goes_on);
}

BOOST_AUTO_TEST_CASE(who_holds_it_in_vain_rests_after_a_request_and_not_for_ever) {
  FairLock lock;
  const auto duration_of = [&](std::uint32_t rests) {
    const Time before = clock_now();
    for (std::uint32_t i = 0; i < rests; ++i) lock.rest_after_vain_hold();
    return clock_now() - before;
  };
  lock.lock();
  std::thread asker([&] { const std::lock_guard guard(lock); });
  BOOST_REQUIRE(wait_for_request(lock));
  lock.unlock();
  asker.join();
  lock.rest_after_vain_hold();
  BOOST_TEST(lock.rests());
  Duration with_rest = kBound;
  Duration without = kBound;
  // The least of several: the machine may have taken the core away in any of them.
  constexpr std::uint32_t kRests = FairLock::kRestsAfterRequest / 10;
  for (int i = 0; i < 10; ++i) with_rest = std::min(with_rest, duration_of(kRests));
  for (int i = 0; i < 10; ++i) without = std::min(without, duration_of(kRests));
  BOOST_TEST(with_rest.ns > 2 * without.ns);
}

BOOST_AUTO_TEST_CASE(who_asked_itself_does_not_rest_for_that) {
  FairLock lock;
  std::atomic<bool> is_held{false};
  std::atomic<bool> was_asked{false};
  std::thread holder([&] {
    const std::lock_guard guard(lock);
    is_held = true;
    was_asked = wait_for_request(lock);
  });
  for (const Time end = clock_now() + kBound; !is_held && clock_now() < end;) sched_yield();
  lock.lock();
  lock.unlock();
  holder.join();
  BOOST_TEST(was_asked);
  BOOST_TEST(!lock.rests());
  lock.rest_after_vain_hold();
  BOOST_TEST(!lock.rests());
}
