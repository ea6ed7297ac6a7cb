// A rest that another thread, or another process, ends.
#include "emulator/host/os/rest_word.h"

#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <functional>
#include <thread>

#include "emulator/host/os/clock.h"
#include "tests/host/link/shm/shm_end.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {
/// A whole rest; `meanwhile` is between its begin and the sleep.
bool sleep_over(GuardedRest& rest, Duration longest, const std::function<void()>& meanwhile = [] {}) {
  RestSet by;
  rest.begin(by);
  meanwhile();
  const bool was_ended = JointRest().rest(by, longest);
  rest.finish();
  return was_ended;
}
}  // namespace

BOOST_AUTO_TEST_CASE(rest_runs_out_and_is_over_then) {
  std::uint32_t word = 0;
  RestWord rest(word);
  rest.begin();
  BOOST_TEST(rest.is_resting());
  const Time began = clock_now();
  errno = 7;
  BOOST_TEST(!rest.rest(milliseconds(2)));
  BOOST_TEST(errno == 7);
  BOOST_TEST((clock_now() - began >= milliseconds(2)));
  BOOST_TEST(!rest.is_resting());
  BOOST_TEST(!rest.end());
}

BOOST_AUTO_TEST_CASE(rest_that_was_ended_before_it_began_takes_no_time) {
  std::uint32_t word = 0;
  RestWord rest(word);
  rest.begin();
  BOOST_TEST(rest.end());
  BOOST_TEST(rest.rest(kPatience));
}

BOOST_AUTO_TEST_CASE(all_who_rest_are_woken_by_another_thread) {
  std::uint32_t word = 0;
  RestWord rest(word);
  rest.begin();
  std::atomic<int> woken{0};
  const auto sleep = [&] { woken += RestWord(word).rest(kPatience) ? 1 : 0; };
  std::thread one(sleep);
  std::thread two(sleep);
  BOOST_TEST(rest.end());
  one.join();
  two.join();
  BOOST_TEST(woken == 2);
}

BOOST_AUTO_TEST_CASE(another_process_ends_a_rest) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(page != MAP_FAILED);
  auto& word = *static_cast<std::uint32_t*>(page);
  RestWord(word).begin();
  Child child([&] { return RestWord(word).end() ? 0 : 1; });
  BOOST_TEST(RestWord(word).rest(kPatience));
  BOOST_TEST(child.join() == 0);
  munmap(page, 4096);
}

BOOST_AUTO_TEST_CASE(guarded_rest_ends_by_a_ring_before_it_or_runs_out) {
  std::uint32_t resting = 0;
  std::uint32_t ended = 7;
  GuardedRest rest(resting, ended);
  BOOST_TEST(!rest.end());
  BOOST_TEST(sleep_over(rest, kPatience, [&] { BOOST_TEST(rest.end()); }));
  BOOST_TEST(!rest.is_resting());
  BOOST_TEST(!sleep_over(rest, milliseconds(1)));
  BOOST_TEST(!rest.is_resting());
  BOOST_TEST(!rest.end());
}

BOOST_AUTO_TEST_CASE(whoever_spoils_the_count_of_ends_makes_nobody_seem_to_rest) {
  std::uint32_t resting = 0;
  std::uint32_t ended = 0;
  GuardedRest rest(resting, ended);
  ended = 0xffff'ffff;
  BOOST_TEST(!rest.end());
  BOOST_TEST(!sleep_over(rest, milliseconds(1)));
}
