#include "cli/run/sweep_files.h"

#include <chrono>

#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/output.h"
#include "cli/run/run_scenario.h"
#include "cli/run/seed_report.h"
#include "cli/run/shrink_file.h"
#include "cli/scenario_file.h"
#include "scenarios/search/sweep.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli::run {

int sweep_files(const CommandLine& line, const Options& options) {
  if (const auto status = make_report_files(line, options)) return *status;
  install_interrupt();
  bool held = true;
  std::vector<SweptFile> all;
  for (const std::string& file : options.files) {
    auto read = read_named_scenario(file);
    if (!read) return line.fail(kExitUsage, read.error().line());
    const SeedRange range = seed_range(options);
    const std::uint64_t seeds = range.last - range.first + 1;
    const auto begin = std::chrono::steady_clock::now();
    const TimeLeft time_left(seeds, std::nullopt);
    ProgressLine progress_line(options.is_silent());
    scenarios::SweepOptions sweep;
    sweep.first_seed = range.first;
    sweep.last_seed = range.last;
    sweep.jobs = job_count(options);
    sweep.stop = &stop_sign();
    sweep.run = run_scenario;
    sweep.progress = [&](std::uint64_t done, std::uint64_t) {
      if (!progress_line.is_due()) return;
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      progress_line.show(
          fmt::format("{}: {} of {}, {}", file, done, wire::counted(seeds, "seed"), time_left.text(done, elapsed)));
    };
    std::fflush(stdout);  // workers must not print it again
    all.push_back({file, range, 0, scenarios::sweep(*read, sweep)});
    SweptFile& swept = all.back();
    const scenarios::SweepResult& result = swept.result;
    swept.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress_line.clear();
    if (!result.error.empty()) return line.fail(kExitInternal, result.error);
    if (!options.json_is_all() && (!options.quiet || !result.failed.empty()))
      fmt::print("{}: {}, {} failed{}\n{}", wire::printable(file), wire::counted(result.seeds_done, "seed"),
                 result.failed.size(), result.interrupted ? ", interrupted" : "", failures_text(swept));
    std::fflush(stdout);
    held = held && result.failed.empty();
    if (result.interrupted) break;
    if (!options.shrink || result.failed.empty() || result.failed.front().crashed) continue;
    read->seed = result.failed.front().seed;
    if (const auto status = shrink_file(line, *read, file)) {
      if (const auto failed = write_reports(line, options, all)) return *failed;
      return *status;
    }
  }
  if (const auto status = write_reports(line, options, all)) return *status;
  if (!all.empty() && all.back().result.interrupted) return kExitInterrupted;
  return held ? 0 : kExitNotHeld;
}

}  // namespace verbena::cli::run
