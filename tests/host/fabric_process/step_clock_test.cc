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

BOOST_AUTO_TEST_CASE(who_is_late_does_all_that_is_due_at_once) {
  StepClock clock;
  clock.advance(at_ms(100), kNever);
  BOOST_TEST(is_at(clock.advance(at_ms(300), at_ms(100)), 300));
}

BOOST_AUTO_TEST_CASE(who_is_behind_goes_in_steps_and_skips_nothing) {
  StepClock clock;
  clock.advance(at_ms(100), kNever);
  BOOST_TEST(is_at(clock.advance(at_ms(500), at_ms(100)), 101));
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(101)), 102));
  // What is due later is waited for, and no longer.
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(800)), 801));
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(801)), 802));  // it stays behind until it has caught up
  BOOST_TEST(is_at(clock.advance(at_ms(900), at_ms(899)), 900));
  BOOST_TEST(is_at(clock.advance(at_ms(1000), at_ms(900)), 1000));
  BOOST_TEST(is_at(clock.advance(at_ms(1000), at_ms(50)), 1000));
}
