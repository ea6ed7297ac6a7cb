#include "scenarios/papers/run_experiment.h"

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "scenarios/language/read_scenario.h"
#include "scenarios/virtual/run_virtual.h"

namespace verbena::scenarios {
namespace {

using Values = std::map<std::string, double, std::less<>>;  // of a run, by name
using AllValues = std::map<std::string_view, Values>;       // by run

std::optional<double> find_value(const AllValues& all, std::string_view run, std::string_view name) {
  const auto values = all.find(run);
  if (values == all.end()) return std::nullopt;
  const auto value = values->second.find(name);
  return value == values->second.end() ? std::nullopt : std::optional(value->second);
}

/// Nothing: the runs have no value of this name.
std::optional<double> find_ours(const AllValues& all, const Measure& measure) {
  if (measure.run.empty() && measure.computed != nullptr) return measure.computed();
  const auto value = find_value(all, measure.run, measure.name);
  if (value && measure.computed != nullptr) return *value / measure.computed();
  if (!value || measure.over_run.empty()) return value;
  const auto over = find_value(all, measure.over_run, measure.over_name);
  if (!over || *over == 0) return std::nullopt;
  return *value / *over;
}

RowResult judge(const ExperimentRow& row, double ours) {
  RowResult result{.row = &row, .ours = ours, .ratio = {}, .verdict = RowVerdict::not_judged};
  if (!row.published) return result;
  result.ratio = ratio_of(*row.published, ours);
  if (!row.is_verified) return result;
  if (is_within(*result.ratio))
    result.verdict = RowVerdict::within;
  else
    result.verdict = row.explanation.empty() ? RowVerdict::outside : RowVerdict::explained;
  return result;
}

Result<Outcome, ExperimentError> run_one(const ExperimentRun& run, const ExperimentOptions& options) {
  const std::string file = fmt::format("{}/papers/{}.yaml", options.library, run.scenario);
  const auto scenario = read_scenario_file(file, {.profile_folders = {options.library + "/profiles"}});
  if (!scenario) return Failure<ExperimentError>{{ExperimentError::Kind::scenario, scenario.error().line()}};
  const Outcome outcome = options.runner ? options.runner(*scenario, options.run) : run_virtual(*scenario, options.run);
  if (outcome.end == Outcome::End::interrupted)
    return Failure<ExperimentError>{{ExperimentError::Kind::interrupted, "interrupted"}};
  if (outcome.end == Outcome::End::failed)
    return Failure<ExperimentError>{
        {outcome.is_users_error ? ExperimentError::Kind::scenario : ExperimentError::Kind::failed,
         fmt::format("{}: {}", file, outcome.error)}};
  for (const ExpectationOutcome& expectation : outcome.expectations)
    if (!expectation.held && expectation.name.empty())
      return Failure<ExperimentError>{
          {ExperimentError::Kind::not_held,
           fmt::format("{}: {} did not hold: {}", file, expectation.text, expectation.observed)}};
  return outcome;
}

}  // namespace

Result<ExperimentResult, ExperimentError> run_experiment(const Experiment& experiment,
                                                         const ExperimentOptions& options) {
  ExperimentResult result;
  result.experiment = &experiment;
  AllValues values;
  for (const ExperimentRun& run : experiment.runs) {
    if (options.begins) options.begins(run);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcome = run_one(run, options);
    if (!outcome) return Failure{outcome.error()};
    for (const ExpectationOutcome& expectation : outcome->expectations)
      if (!expectation.name.empty() && expectation.value) values[run.name][expectation.name] = *expectation.value;
    result.runs.push_back({run.name, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                           outcome->elapsed, outcome->trace_hash});
  }
  for (const ExperimentRow& row : experiment.rows) {
    const auto ours = find_ours(values, row.ours);
    if (!ours)
      return Failure<ExperimentError>{{ExperimentError::Kind::not_held,
                                       fmt::format("{}: the runs have no value for '{}'", experiment.name, row.what)}};
    result.rows.push_back(judge(row, *ours));
  }
  return result;
}

}  // namespace verbena::scenarios
