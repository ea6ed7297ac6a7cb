// run_experiment(): the scenarios of an experiment, one after the other, and its values beside the published ones.
// Tested by: tests/scenarios/papers/experiment_test.cc
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/outcome/outcome.h"
#include "scenarios/papers/experiment.h"
#include "wire/result.h"

namespace verbena::scenarios {

enum class RowVerdict : std::uint8_t {
  within,      // 15 % of the published value
  explained,   // farther away, for a reason that the row names
  outside,     // farther away
  not_judged,  // the published value is not known, or was not read in its source
};

struct RowResult {
  const ExperimentRow* row = nullptr;
  double ours = 0;
  std::optional<double> ratio;
  RowVerdict verdict{};
};

/// What became of one of its scenarios.
struct RunResult {
  std::string_view name;
  double seconds = 0;  // of the wall clock
  Duration elapsed{};  // of virtual time
  std::uint64_t trace_hash = 0;
};

struct ExperimentResult {
  const Experiment* experiment = nullptr;
  std::vector<RunResult> runs;
  std::vector<RowResult> rows;

  bool held() const {
    for (const RowResult& row : rows)
      if (row.verdict == RowVerdict::outside) return false;
    return true;
  }
};

struct ExperimentError {
  enum class Kind : std::uint8_t {
    scenario,     // a file that cannot be read, or says what cannot be
    not_held,     // an expectation that has no name: the run was not what it is to be
    interrupted,  // RunOptions::stop
    failed,       // Verbena could not do it
  } kind{};
  std::string text;  // one line
};

struct ExperimentOptions {
  std::string library;  // the folder of scenarios: its papers/ and profiles/ are read
  RunOptions run;       // but for its directory
  /// Called before each scenario.
  std::function<void(const ExperimentRun&)> begins;
  /// Runs one; null: run_virtual.
  std::function<Outcome(const Scenario&, const RunOptions&)> runner;
};

Result<ExperimentResult, ExperimentError> run_experiment(const Experiment& experiment,
                                                         const ExperimentOptions& options);

}  // namespace verbena::scenarios
