#include "cli/run/run_files.h"

#include <chrono>
#include <filesystem>
#include <memory>

#include "cli/progress_line.h"
#include "cli/run/input.h"
#include "cli/run/interrupt.h"
#include "cli/run/output.h"
#include "cli/run/run_scenario.h"
#include "cli/run/shrink_file.h"
#include "cli/style.h"
#include "scenarios/language/read_scenario.h"
#include "scenarios/outcome/buffered_file.h"
#include "scenarios/outcome/junit.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/outcome/report.h"

namespace verbena::cli::run {
namespace {

using scenarios::Outcome;
using scenarios::Scenario;

std::string out_directory(const Options& options, const std::string& file) {
  if (options.out.empty() || options.files.size() == 1) return options.out;
  return options.out + "/" + std::filesystem::path(file).stem().string();
}

struct Finished {
  std::unique_ptr<Scenario> scenario;
  Outcome outcome;
};

/// A value: the run was not made, the process ends with it.
std::optional<int> run_file(const CommandLine& line, const Options& options, const std::string& file,
                            Finished& finished) {
  auto read = read_input(options, file);
  if (!read) return line.fail(kExitUsage, read.error().line());
  finished.scenario = std::make_unique<Scenario>(std::move(*read));
  if (const auto seed = parse_number(options.seed, 0, UINT64_MAX)) finished.scenario->seed = *seed;
  ProgressLine progress_line(options.is_silent());
  scenarios::RunOptions run;
  run.out_directory = out_directory(options, file);
  run.stop = &stop_sign();
  const auto begin = std::chrono::steady_clock::now();
  run.progress = [&progress_line, begin](const scenarios::RunProgress& progress) {
    if (!progress_line.is_due()) return;
    std::string text = scenarios::progress_text(progress);
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (progress.completions_wanted != 0)
      text += "  " + TimeLeft(progress.completions_wanted, std::nullopt).text(progress.completions, elapsed);
    progress_line.show(text);
  };
  if (!run.out_directory.empty())
    if (const auto prepared = scenarios::prepare_directory(run.out_directory); !prepared)
      return fail_to_write(line, "--out", prepared.error());
  finished.outcome = run_scenario(*finished.scenario, run);
  progress_line.clear();
  const Outcome& outcome = finished.outcome;
  if (outcome.end == Outcome::End::failed && outcome.is_users_error)
    return line.fail(kExitUsage, fmt::format("{}:{}", file, outcome.error));
  if (outcome.end == Outcome::End::failed) return line.fail(kExitInternal, outcome.error);
  if (!options.json_is_all() && (!options.quiet || !outcome.held()))
    fmt::print("{}", Style(stdout).report(scenarios::report_text(*finished.scenario, outcome)));
  std::fflush(stdout);  // an interruption of the next run may end the process
  if (!run.out_directory.empty())
    if (const auto written = scenarios::write_file(run.out_directory + "/summary.json",
                                                   scenarios::report_json(*finished.scenario, outcome));
        !written)
      return line.fail(kExitInternal, written.error().text);
  return std::nullopt;
}

std::optional<int> write_reports(const CommandLine& line, const Options& options, const std::vector<Finished>& all) {
  if (!options.json.empty()) {
    std::string text;
    for (const Finished& one : all)
      text += (text.empty() ? "" : ",\n") + scenarios::report_json(*one.scenario, one.outcome);
    if (options.files.size() > 1) text = "[\n" + text + "]\n";
    if (const auto status = write_output(line, "--json", options.json, text)) return status;
  }
  if (options.junit.empty()) return std::nullopt;
  std::vector<scenarios::JunitSuite> suites;
  for (const Finished& one : all) suites.push_back(scenarios::junit_suite(*one.scenario, one.outcome));
  return write_output(line, "--junit", options.junit, scenarios::junit_xml(suites));
}

}  // namespace

int run_files(const CommandLine& line, const Options& options) {
  if (const auto status = make_report_files(line, options)) return *status;
  install_interrupt();
  std::vector<Finished> all;
  bool held = true;
  for (const std::string& file : options.files) {
    Finished finished;
    if (const auto status = run_file(line, options, file, finished)) return *status;
    held = held && finished.outcome.held();
    all.push_back(std::move(finished));
    const bool last = all.size() == options.files.size();
    if (!options.json_is_all() && (interrupted() || (!last && !options.quiet))) fmt::print("\n");
    if (interrupted()) break;
  }
  if (const auto status = write_reports(line, options, all)) return *status;
  if (interrupted()) return kExitInterrupted;
  if (all.size() > 1 && !options.json_is_all() && (!options.quiet || !held)) {
    std::vector<scenarios::ComparedRun> rows;
    for (std::size_t i = 0; i < all.size(); ++i)
      rows.push_back({options.files[i], all[i].scenario.get(), &all[i].outcome});
    fmt::print("\n{}", scenarios::comparison_text(rows));
  }
  for (std::size_t i = 0; options.shrink && i < all.size(); ++i)
    if (!all[i].outcome.held())
      if (const auto status = shrink_file(line, *all[i].scenario, options.files[i])) return *status;
  return held ? 0 : kExitNotHeld;
}

}  // namespace verbena::cli::run
