// `verbena paper`: experiments of the literature. Reads the options, has them run, and prints what came of it.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/options.h"
#include "cli/run/run_scenario.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/os/huge_pages.h"
#include "scenarios/outcome/report.h"
#include "scenarios/papers/experiment_report.h"

namespace verbena::cli {
namespace {

using scenarios::Experiment;
using scenarios::ExperimentResult;

struct PaperOptions {
  std::vector<std::string> names;
  bool list = false;
  bool checks = false;
  Reporting reporting;
};

void declare(CommandLine& line, PaperOptions& options) {
  line.arguments("NAME", options.names, "experiments; all stands for all of them");
  line.flag("--list", options.list, "the experiments, and how long each takes");
  line.flag("--checkers", options.checks, "watch the rules of the transport as well, which takes twice as long");
  line.reporting(options.reporting, "print nothing where all values are within their margin",
                 "the tables for programs");
  line.exit_status("0", "all values are within 15 % of the published ones, or the table says what moves them");
  line.exit_status("1", "one is not, or a run was not what it is to be");
  line.exit_status("130", "Ctrl-C");
  line.example("verbena paper dcqcn-thresholds", "one that is arithmetic; the others run scenarios, papers/*.yaml");
}

/// The experiments of these names, none twice; an error is one line.
Result<std::vector<const Experiment*>, std::string> find_all(const std::vector<std::string>& names) {
  std::vector<const Experiment*> found;
  const auto all = scenarios::all_experiments();
  for (const std::string& name : names) {
    if (name == "all") return std::vector<const Experiment*>(all.begin(), all.end());
    const Experiment* const experiment = scenarios::find_experiment(name);
    if (experiment == nullptr) {
      std::vector<std::string_view> known;
      for (const Experiment* one : all) known.push_back(one->name);
      const std::string_view like = fabric::nearest(name, known);
      return Failure{fmt::format("{}: there is no such experiment{}", name,
                                 like.empty() ? "; --list names them" : fmt::format(", did you mean {}?", like))};
    }
    if (std::ranges::find(found, experiment) == found.end()) found.push_back(experiment);
  }
  return found;
}

Result<ExperimentResult, scenarios::ExperimentError> run_one(const Experiment& experiment, const std::string& library,
                                                             const PaperOptions& options) {
  ProgressLine progress_line(options.reporting.quiet, stderr);
  std::string running;
  scenarios::ExperimentOptions run;
  run.library = library;
  run.run.checkers = options.checks;
  run.run.stop = &run::stop_sign();
  run.run.progress = [&](const scenarios::RunProgress& progress) {
    if (progress_line.is_due()) progress_line.show(running + ": " + scenarios::progress_text(progress));
  };
  run.begins = [&](const scenarios::ExperimentRun& one) { running = fmt::format("{} {}", experiment.name, one.name); };
  run.runner = run::run_scenario;
  return scenarios::run_experiment(experiment, run);
}

int status_of(scenarios::ExperimentError::Kind kind) {
  switch (kind) {
    case scenarios::ExperimentError::Kind::scenario:
      return kExitUsage;
    case scenarios::ExperimentError::Kind::not_held:
      return run::kExitNotHeld;
    case scenarios::ExperimentError::Kind::interrupted:
      return run::kExitInterrupted;
    case scenarios::ExperimentError::Kind::failed:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace

int run_paper(const Arguments& arguments) {
  CommandLine line("verbena paper", "verbena paper [OPTIONS] NAME...",
                   "Runs experiments of the literature and prints their values beside the published ones.\n");
  PaperOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  const auto all = scenarios::all_experiments();
  if (options.list) {
    fmt::print("{}", options.reporting.json ? scenarios::experiments_json(all) : scenarios::experiments_text(all));
    return 0;
  }
  if (options.names.empty()) return line.fail(kExitUsage, "NAME is required; --list has the experiments");
  const auto chosen = find_all(options.names);
  if (!chosen) return line.fail(kExitUsage, chosen.error());
  const auto library = host::find_scenario_directory();
  if (!library) return line.fail(kExitInternal, library.error());
  host::prefer_huge_pages(host::kSimulationHeapBytes);
  run::install_interrupt();
  std::vector<ExperimentResult> results;
  bool held = true;
  for (const Experiment* experiment : *chosen) {
    auto result = run_one(*experiment, *library, options);
    if (!result && result.error().kind == scenarios::ExperimentError::Kind::interrupted) return run::kExitInterrupted;
    if (!result) return line.fail(status_of(result.error().kind), result.error().text);
    held = held && result->held();
    if (!options.reporting.json && (!options.reporting.quiet || !result->held()))
      fmt::print("{}{}", results.empty() ? "" : "\n", scenarios::experiment_text(*result));
    std::fflush(stdout);
    results.push_back(std::move(*result));
  }
  if (options.reporting.json) fmt::print("{}", scenarios::results_json(results));
  return held ? 0 : run::kExitNotHeld;
}

}  // namespace verbena::cli
