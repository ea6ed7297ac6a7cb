#include "cli/run/sweep_files.h"

#include <chrono>

#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/run_scenario.h"
#include "cli/run/shrink_file.h"
#include "cli/scenario_file.h"
#include "scenarios/search/sweep.h"

namespace verbena::cli::run {
namespace {

constexpr std::size_t kFailedShown = 50;

void print_failed(const std::string& file, const scenarios::SweepResult& result) {
  for (std::size_t i = 0; i < result.failed.size() && i < kFailedShown; ++i) {
    const scenarios::FailedSeed& failed = result.failed[i];
    fmt::print("NOT HELD  seed {}: {}\n          verbena run {} --seed {}\n", failed.seed, failed.why, file,
               failed.seed);
  }
  if (result.failed.size() > kFailedShown) fmt::print("... and {} more seeds\n", result.failed.size() - kFailedShown);
}

}  // namespace

int sweep_files(const CommandLine& line, const Options& options) {
  install_interrupt();
  bool held = true;
  for (const std::string& file : options.files) {
    auto read = read_named_scenario(file);
    if (!read) return line.fail(kExitUsage, read.error().line());
    const SeedRange range = seed_range(options);
    const std::uint64_t seeds = range.last - range.first + 1;
    const auto begin = std::chrono::steady_clock::now();
    const TimeLeft time_left(seeds, std::nullopt);
    ProgressLine progress_line(options.quiet);
    scenarios::SweepOptions sweep;
    sweep.first_seed = range.first;
    sweep.last_seed = range.last;
    sweep.jobs = job_count(options);
    sweep.stop = &interrupted();
    sweep.run = run_scenario;
    sweep.progress = [&](std::uint64_t done, std::uint64_t) {
      if (!progress_line.is_due()) return;
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      progress_line.show(fmt::format("{}: {} of {} seeds, {}", file, done, seeds, time_left.text(done, elapsed)));
    };
    std::fflush(stdout);  // workers must not print it again
    const scenarios::SweepResult result = scenarios::sweep(*read, sweep);
    progress_line.clear();
    if (!result.error.empty()) return line.fail(kExitInternal, result.error);
    if (!options.quiet || !result.failed.empty())
      fmt::print("{}: {} seeds, {} failed{}\n", file, result.seeds_done, result.failed.size(),
                 result.interrupted ? ", interrupted" : "");
    print_failed(file, result);
    held = held && result.failed.empty();
    if (result.interrupted) return kExitInterrupted;
    if (!options.shrink || result.failed.empty() || result.failed.front().crashed) continue;
    read->seed = result.failed.front().seed;
    if (const auto status = shrink_file(line, *read, file)) return *status;
  }
  return held ? 0 : kExitNotHeld;
}

}  // namespace verbena::cli::run
