// Random scenarios one after the other: what happens when one does not hold, or its worker dies.
#include "cli/run/soak.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

using namespace verbena;
using cli::run::Options;
using scenarios::Outcome;

namespace {

constexpr std::uint64_t kBadSeed = 70;

Outcome held(const scenarios::Scenario&, const scenarios::RunOptions&) {
  Outcome outcome;
  outcome.end = Outcome::End::finished;
  return outcome;
}

Outcome breaks_at_bad_seed(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  Outcome outcome = held(scenario, options);
  if (scenario.seed != kBadSeed) return outcome;
  outcome.end = Outcome::End::failed;
  outcome.error = "made to fail";
  return outcome;
}

Outcome dies_at_bad_seed(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  if (scenario.seed == kBadSeed) _exit(3);
  return held(scenario, options);
}

struct Soaked {
  int status = 0;
  std::string out;
};

/// What soak() prints goes to a file meanwhile.
Soaked soak(const std::string& seeds, const scenarios::SweepRunner& run) {
  cli::CommandLine line("test", "", "");
  Options options;
  options.random = true;
  options.seeds = seeds;
  options.jobs = "2";
  std::FILE* const printed = std::tmpfile();
  BOOST_REQUIRE(printed != nullptr);
  std::fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(fileno(printed), STDOUT_FILENO);
  Soaked soaked;
  soaked.status = cli::run::soak(line, options, run);
  std::fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  std::rewind(printed);
  for (int octet = std::fgetc(printed); octet != EOF; octet = std::fgetc(printed))
    soaked.out.push_back(static_cast<char>(octet));
  std::fclose(printed);
  return soaked;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_holds_is_counted) {
  const Soaked soaked = soak("60..80", held);
  BOOST_TEST(soaked.status == 0);
  BOOST_TEST(soaked.out.starts_with("random: 21 scenarios from seed 60 on, 0 failed"), soaked.out);
}

BOOST_AUTO_TEST_CASE(failing_seed_ends_the_soak_with_its_replay_command) {
  const Soaked soaked = soak("1..1000", breaks_at_bad_seed);
  BOOST_TEST(soaked.status == cli::run::kExitNotHeld);
  BOOST_TEST(soaked.out == "NOT HELD  seed 70: made to fail\n          verbena run --random --seed 70\n");
}

BOOST_AUTO_TEST_CASE(a_worker_that_dies_is_a_seed_that_does_not_hold) {
  const Soaked soaked = soak("1..1000", dies_at_bad_seed);
  BOOST_TEST(soaked.status == cli::run::kExitNotHeld);
  BOOST_TEST(soaked.out.starts_with("NOT HELD  seed 70: "), soaked.out);
  BOOST_TEST(soaked.out.ends_with("\n          verbena run --random --seed 70\n"), soaked.out);
}
