// What came of many seeds: as text, JSON and JUnit's XML, failures by their cause.
//
// Solely the forms; the seeds are run by scenarios/search/sweep.h.
// Tested by: tests/cli/run_test.cc, tests/cli/soak_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/run/options.h"
#include "scenarios/outcome/junit.h"
#include "scenarios/search/sweep.h"

namespace verbena::cli::run {

struct SweptFile {
  std::string file;  // as it was given; empty: random scenarios
  SeedRange range;   // that was asked for, or as far as it came
  double seconds = 0;
  scenarios::SweepResult result;
};

/// The command that runs this seed again.
std::string replay_of(const SweptFile& swept, std::uint64_t seed);
/// The failed seeds, those with one cause together, some of each. Empty: none failed.
std::string failures_text(const SweptFile& swept);
/// One object; of several files an array of them.
std::string seeds_json(const std::vector<SweptFile>& all);
scenarios::JunitSuite junit_of(const SweptFile& swept);
/// To the files that the user has named. A value: the process ends with it.
std::optional<int> write_reports(const CommandLine& line, const Options& options, const std::vector<SweptFile>& all);

}  // namespace verbena::cli::run
