// A scenario in which each single thing fails once: what there is, and what a run with it is worth.
#include "cli/exhaust/exhaust_scenario.h"

#include <boost/test/unit_test.hpp>

#include "cli/exhaust/scenario_rows.h"
#include "cli/exhaust/session.h"
#include "scenarios/virtual/run_virtual.h"
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::cli::exhaust;

namespace {

constexpr std::uint64_t kMessages = 3;
const std::string kWrites =
    test::star(2, "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 1KiB, count: 3}\n");

struct Exhausted {
  scenarios::Scenario scenario = test::good(kWrites);
  ScenarioRows rows{scenario};
  Census census = census_of(rows.subjects(), rows.counts_in(scenarios::run_virtual(rows.counting(), {})));

  std::uint64_t count(const std::string& subject) const {
    const auto found = std::ranges::find(census.subjects, subject, &Subject::name);
    return found == census.subjects.end() ? 0
                                          : census.counts[static_cast<std::size_t>(found - census.subjects.begin())];
  }
  Verdict verdict(const std::string& name) const {
    const std::vector<Row> all = rows_to_run(census, {});
    const auto row = std::ranges::find(all, name, &Row::name);
    BOOST_REQUIRE_MESSAGE(row != all.end(), name);
    return rows.judge(*row, scenarios::run_virtual(rows.with(*row), {}));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(what_happens_is_counted_by_host_and_by_cable) {
  const Exhausted exhausted;
  BOOST_TEST(exhausted.count("n1 ibv_post_send") == kMessages);
  BOOST_TEST(exhausted.count("n2 ibv_post_send") == 0U);
  BOOST_TEST(exhausted.count("n1 completion of send") == kMessages);
  BOOST_TEST(exhausted.count("n1->s1 write") == kMessages);
  BOOST_TEST(exhausted.count("s1->n2 write") == kMessages);
  BOOST_TEST(exhausted.count("s1->n1 write") == 0U);
  BOOST_TEST(exhausted.count("s1->n1 ack") >= 1U);
}

BOOST_AUTO_TEST_CASE(each_row_is_judged_by_what_the_scenario_expects) {
  const Exhausted exhausted;
  BOOST_CHECK(exhausted.verdict("n1->s1 write 2: lost").outcome == Outcome::passed);
  BOOST_CHECK(exhausted.verdict("n1->s1 write 3: twice").outcome == Outcome::passed);
  const Verdict failed = exhausted.verdict("n1 completion of send 2: RETRY_EXC_ERR");
  BOOST_CHECK(failed.outcome == Outcome::own_error);
  BOOST_TEST(!failed.why.empty());
}

BOOST_AUTO_TEST_CASE(a_fault_that_does_not_hit_judges_nothing) {
  const Exhausted exhausted;
  const std::vector<Row> all = rows_to_run(exhausted.census, {});
  Row row = *std::ranges::find(all, "n1->s1 write 3: lost", &Row::name);
  row.rules = {"drop opcode=write skip=3 count=1"};
  const Verdict verdict = exhausted.rows.judge(row, scenarios::run_virtual(exhausted.rows.with(row), {}));
  BOOST_CHECK(verdict.outcome == Outcome::not_hit);
}

BOOST_AUTO_TEST_CASE(two_faults_of_a_pair_are_at_their_own_places) {
  const Exhausted exhausted;
  Options options;
  options.pairs = "40";
  for (const Row& row : rows_to_run(exhausted.census, options))
    if (row.rules.size() == 2)
      BOOST_TEST(exhausted.rows.with(row).faults.size() == exhausted.scenario.faults.size() + 2);
}

BOOST_AUTO_TEST_CASE(a_scenario_is_known_by_its_ending) {
  BOOST_TEST(is_scenario({"a.yaml"}));
  BOOST_TEST(!is_scenario({"a.yaml", "b"}));
  BOOST_TEST(!is_scenario({"prog"}));
}
