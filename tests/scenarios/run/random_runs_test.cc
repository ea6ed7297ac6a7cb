// Random scenarios: all of them hold, every checker watching, whatever the faults. A failure names the seed; the
// scenario's text is printed, `verbena run` takes it.
#include <cstdlib>

#include "scenarios/language/random_scenario.h"
#include "tests/scenarios/run/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSeedsEach = 25;
#else
constexpr std::uint64_t kSeedsEach = 250;
#endif

void check_seeds(std::uint64_t first) {
  std::uint64_t completions = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = first; seed < first + kSeedsEach; ++seed) {
    const std::string text = random_scenario(seed);
    const Outcome outcome = test::run(text, seed);
    BOOST_TEST_REQUIRE(outcome.held(), "random_scenario(" << seed << ")\n" << test::story(outcome) << text);
    for (const WorkloadOutcome& workload : outcome.workloads) completions += workload.statuses[0].number;
    lost += outcome.packets_lost + outcome.packets_vanished;
  }
  BOOST_TEST(completions > kSeedsEach * 20);
  BOOST_TEST(lost > kSeedsEach);
}

}  // namespace

BOOST_AUTO_TEST_CASE(first_quarter) {
  check_seeds(1);
}
BOOST_AUTO_TEST_CASE(second_quarter) {
  check_seeds(251);
}
BOOST_AUTO_TEST_CASE(third_quarter) {
  check_seeds(501);
}
BOOST_AUTO_TEST_CASE(fourth_quarter) {
  check_seeds(751);
}
