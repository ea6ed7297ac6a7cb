// Random scenarios: all of them hold, every checker watching, whatever the faults. A failure prints the scenario's
// text, which `verbena run` takes, and the command that replays it. VERBENA_TEST_SEED_COUNT: so many more seeds.
#include <cstdlib>

#include "scenarios/language/random_scenario.h"
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

#if defined(VERBENA_ADDRESS_SANITIZER) || defined(VERBENA_THREAD_SANITIZER)
constexpr std::uint64_t kSeedsEach = 25;
#else
constexpr std::uint64_t kSeedsEach = 250;
#endif

struct Totals {
  std::uint64_t completions = 0;
  std::uint64_t lost = 0;
};

void check_seed(std::uint64_t seed, Totals& totals) {
  const std::string text = random_scenario(seed);
  const Outcome outcome = test::run(text, seed);
  BOOST_TEST_REQUIRE(outcome.held(), "replay: VERBENA_TEST_SEED=" << seed << " test_scenarios_virtual_random_runs\n"
                                                                  << test::story(outcome) << text);
  for (const WorkloadOutcome& workload : outcome.workloads) totals.completions += workload.statuses[0].number;
  totals.lost += outcome.packets_lost + outcome.packets_vanished;
}

void check_seeds(std::uint64_t first) {
  if (std::getenv("VERBENA_TEST_SEED") != nullptr) return;
  Totals totals;
  for (std::uint64_t seed = first; seed < first + kSeedsEach; ++seed) check_seed(seed, totals);
  BOOST_TEST(totals.completions > kSeedsEach * 20);
  BOOST_TEST(totals.lost > kSeedsEach);
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

BOOST_AUTO_TEST_CASE(nodes_with_rails_hold_as_well) {
  for (std::uint64_t seed = 1; seed <= kSeedsEach / 2; ++seed) {
    std::string text = random_scenario(seed);
    const std::string_view before = "topology:\n";
    text.insert(text.find(before) + before.size(), seed % 2 == 0 ? "  rails: 2\n" : "  rails: 3\n");
    const Outcome outcome = test::run(text, seed);
    BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome) << text);
  }
}

BOOST_AUTO_TEST_CASE(a_seed_whose_answers_are_lost_together_again_and_again) {
  Totals totals;
  check_seed(910'292, totals);
}

BOOST_AUTO_TEST_CASE(seeds_that_are_asked_for) {
  Totals totals;
  if (const char* seed = std::getenv("VERBENA_TEST_SEED")) check_seed(std::strtoull(seed, nullptr, 0), totals);
  const char* count = std::getenv("VERBENA_TEST_SEED_COUNT");
  const std::uint64_t more = count != nullptr ? std::strtoull(count, nullptr, 0) : 0;
  for (std::uint64_t seed = 1001; seed < 1001 + more; ++seed) check_seed(seed, totals);
  BOOST_TEST(totals.completions >= more);
}
