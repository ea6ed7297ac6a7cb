// A fabric's time: the machine's, but for a process that does not keep up.
#include "emulator/host/fabric_process/step_clock.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using verbena::host::StepClock;

namespace {

constexpr Time at_ms(std::int64_t ms) {
  return {ms * 1'000'000};
}
bool is_at(Time time, std::int64_t ms) {
  return time.ns == at_ms(ms).ns;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_work_it_is_the_machines_time) {
  StepClock clock;
  BOOST_TEST(is_at(clock.advance(at_ms(5000), kNever), 5000));
  BOOST_TEST(is_at(clock.advance(at_ms(9000), at_ms(9500)), 9000));
}

BOOST_AUTO_TEST_CASE(with_work_a_step_is_bounded_and_nothing_is_skipped) {
  StepClock clock;
  clock.advance(at_ms(100), kNever);
  BOOST_TEST(is_at(clock.advance(at_ms(500), at_ms(100)), 101));
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(101)), 102));
  // What is due later is waited for, and no longer.
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(300)), 301));
  // It catches up.
  BOOST_TEST(is_at(clock.advance(at_ms(900), kNever), 900));
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(50)), 900));
}
