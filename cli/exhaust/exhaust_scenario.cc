#include "cli/exhaust/exhaust_scenario.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/exhaust/report.h"
#include "cli/exhaust/scenario_rows.h"
#include "cli/exhaust/session.h"
#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/options.h"
#include "cli/run/run_scenario.h"
#include "cli/scenario_file.h"
#include "scenarios/outcome/report.h"
#include "scenarios/outcome/shell_word.h"
#include "scenarios/search/sweep.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli::exhaust {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatchOfJob = 32;  // rows; what an interrupted batch has done is done again

/// What a run was worth, through the one line that a sweep's workers have for it.
std::string as_line(const Verdict& verdict) {
  return fmt::format("{}: {}", to_string(verdict.outcome), verdict.why);
}
Verdict from_line(const std::string& line) {
  for (const Outcome outcome : kOutcomes)
    if (const std::string head = fmt::format("{}: ", to_string(outcome)); line.starts_with(head))
      return {outcome, line.substr(head.size()), ""};
  return {Outcome::crashed, line, ""};
}

std::string replay(const std::string& file, const Row& row) {
  return fmt::format("verbena exhaust {} --row {}", scenarios::shell_word(file), scenarios::shell_word(row.name));
}

std::optional<std::string> find_odd_options(const Options& options) {
  for (const auto& [value, name] : {std::pair{&options.server, "--server"},
                                    {&options.client, "--client"},
                                    {&options.check, "--check"},
                                    {&options.nic, "--nic"},
                                    {&options.silence, "--silence"},
                                    {&options.limit, "--limit"}})
    if (!value->empty()) return fmt::format("{} is for programs: a scenario says it itself", name);
  return std::nullopt;
}

class ScenarioCampaign {
 public:
  ScenarioCampaign(const scenarios::Scenario& scenario, const ScenarioRows& rows, const Options& options,
                   std::string file)
      : scenario_(scenario), rows_(rows), options_(options), file_(std::move(file)) {}

  /// The error: no worker could be started.
  std::string run(const std::vector<Row>& wanted, Results& results) {
    std::vector<const Row*> open;
    for (const Row& row : wanted)
      if (!results.has(row.name)) open.push_back(&row);
    const auto begin = Clock::now();
    const TimeLeft time_left(open.size(), std::nullopt);
    ProgressLine progress_line(options_.reporting.quiet, stderr);
    const std::size_t batch = kBatchOfJob * job_count(options_);
    for (std::size_t first = 0; first < open.size() && !run::interrupted(); first += batch) {
      const auto some = std::span(open).subspan(first, std::min(batch, open.size() - first));
      if (progress_line.is_due())
        progress_line.show(
            fmt::format("{} of {}, {}", first, wire::counted(open.size(), "fault"),
                        time_left.text(first, std::chrono::duration<double>(Clock::now() - begin).count())));
      if (const std::string error = run_batch(some, results); !error.empty()) return error;
    }
    return "";
  }

 private:
  std::string run_batch(std::span<const Row* const> some, Results& results) {
    scenarios::SweepOptions sweep;
    sweep.first_seed = 0;
    sweep.last_seed = some.size() - 1;
    sweep.jobs = job_count(options_);
    sweep.stop = &run::stop_sign();
    sweep.run = [&](const scenarios::Scenario& numbered, const scenarios::RunOptions& options) {
      const Row& row = *some[numbered.seed];
      scenarios::Outcome outcome = run::run_scenario(rows_.with(row), options);
      const Verdict verdict = rows_.judge(row, outcome);
      if (verdict.outcome == Outcome::passed || outcome.end == scenarios::Outcome::End::interrupted) return outcome;
      outcome.end = scenarios::Outcome::End::failed;
      outcome.error = as_line(verdict);
      return outcome;
    };
    std::fflush(stdout);  // workers must not print it again
    const scenarios::SweepResult swept = scenarios::sweep(scenario_, sweep);
    if (!swept.error.empty() || swept.interrupted) return swept.error;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto failed = std::ranges::find(swept.failed, i, &scenarios::FailedSeed::seed);
      const Verdict verdict = failed == swept.failed.end() ? Verdict{} : from_line(failed->why);
      results.add({.row = *some[i], .verdict = verdict, .seconds = 0, .replay = replay(file_, *some[i])});
    }
    return "";
  }

  const scenarios::Scenario& scenario_;
  const ScenarioRows& rows_;
  const Options& options_;
  const std::string file_;
};

int run_row(const CommandLine& line, const Options& options, const ScenarioRows& rows, const std::vector<Row>& all) {
  const auto row = std::ranges::find(all, options.row, &Row::name);
  if (row == all.end())
    return line.fail(kExitUsage, fmt::format("--row {}: the scenario has no such row: copy one from the report",
                                             wire::printable(options.row)));
  const scenarios::Scenario scenario = rows.with(*row);
  const scenarios::Outcome outcome = run::run_scenario(scenario, {});
  fmt::print("{}", scenarios::report_text(scenario, outcome));
  return outcome.held() ? 0 : run::kExitNotHeld;
}

}  // namespace

bool is_scenario(const std::vector<std::string>& words) {
  if (words.size() != 1) return false;
  return std::ranges::any_of(std::array{".yaml", ".yml"},
                             [&](const char* ending) { return words.front().ends_with(ending); });
}

int exhaust_scenario(const CommandLine& line, const Options& options, const std::string& file) {
  if (const auto error = find_odd_options(options)) return line.fail(kExitUsage, *error);
  const auto scenario = read_named_scenario(file);
  if (!scenario) return line.fail(kExitUsage, scenario.error().line());
  if (scenario->clock == scenarios::Clock::real_time)
    return line.fail(kExitUsage,
                     wire::printable(file) + ": it has clock: real: exhaust its programs, or say clock: virtual");
  Results results(file);
  if (const auto status = keep_state(line, options, results)) return *status;
  if (const auto status = make_junit(line, options)) return *status;
  run::install_interrupt();
  const ScenarioRows rows(*scenario);
  scenarios::RunOptions run_options;
  run_options.stop = &run::stop_sign();
  const scenarios::Outcome clean = run::run_scenario(rows.counting(), run_options);
  if (run::interrupted()) return run::kExitInterrupted;
  if (!clean.held())
    return line.fail(kExitNothing,
                     fmt::format("without a further fault the scenario does not hold ({}): that has to be "
                                 "mended first",
                                 wire::printable(scenarios::failure_text(clean))));
  const Census census = census_of(rows.subjects(), rows.counts_in(clean));
  const std::vector<Row> wanted = rows_to_run(census, options);
  if (!options.row.empty()) return run_row(line, options, rows, wanted);
  if (!options.reporting.quiet && !options.reporting.json)
    fmt::print("without a further fault: {}\n{}{}, {} at one time\n", counts_text(census),
               left_out_text(census, options), wire::counted(wanted.size(), "fault"), job_count(options));
  std::fflush(stdout);
  const auto begin = Clock::now();
  ScenarioCampaign campaign(*scenario, rows, options, file);
  if (const std::string error = campaign.run(wanted, results); !error.empty()) return line.fail(kExitInternal, error);
  const int status = conclude(line, options, results, std::chrono::duration<double>(Clock::now() - begin).count());
  return run::interrupted() ? run::kExitInterrupted : status;
}

}  // namespace verbena::cli::exhaust
