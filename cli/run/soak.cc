#include "cli/run/soak.h"

#include <algorithm>
#include <chrono>

#include "cli/progress_line.h"
#include "cli/run/input.h"
#include "cli/run/interrupt.h"
#include "cli/run/output.h"
#include "cli/run/run_scenario.h"
#include "cli/run/seed_report.h"
#include "scenarios/search/sweep.h"
#include "scenarios/virtual/run_virtual.h"
#include "wire/counted.h"

namespace verbena::cli::run {
namespace {

using Clock = std::chrono::steady_clock;
using scenarios::Outcome;

/// How many seeds are run between two looks at the clock: for half a second or so, on whatever machine.
class BatchSize {
 public:
  explicit BatchSize(std::uint64_t jobs) : least_(jobs), seeds_(jobs) {}
  std::uint64_t seeds() const { return seeds_; }
  void took(Clock::duration time) {
    if (time < std::chrono::milliseconds(250)) seeds_ = std::min(2 * seeds_, std::max(least_, kSeedsMax));
    if (time > std::chrono::seconds(1)) seeds_ = std::max(seeds_ / 2, least_);
  }

 private:
  static constexpr std::uint64_t kSeedsMax = 64;

  std::uint64_t least_;
  std::uint64_t seeds_;
};

}  // namespace

Outcome run_random(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  const auto made = make_random(scenario.seed);
  if (made) return within_memory([&] { return scenarios::run_virtual(*made, options); });
  Outcome outcome;
  outcome.end = Outcome::End::failed;
  outcome.error = made.error().line();
  return outcome;
}

int soak(const CommandLine& line, const Options& options, const scenarios::SweepRunner& runner) {
  if (const auto status = make_report_files(line, options)) return *status;
  install_interrupt();
  const SeedRange range = seed_range(options);
  const auto begin = Clock::now();
  const auto limit = soak_seconds(options);
  const TimeLeft time_left(range.last - range.first + 1, limit);
  ProgressLine progress_line(options.is_silent());
  std::uint64_t done = 0;
  const auto seconds = [&] {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
  };
  BatchSize batch(job_count(options));
  for (std::uint64_t first = range.first;;) {
    scenarios::SweepOptions sweep;
    sweep.first_seed = first;
    sweep.last_seed = first + std::min(range.last - first, batch.seeds() - 1);
    sweep.jobs = job_count(options);
    sweep.stop = &stop_sign();
    sweep.run = runner;
    sweep.progress = [&](std::uint64_t done_now, std::uint64_t) {
      if (!progress_line.is_due()) return;
      const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      progress_line.show(fmt::format("{} held, seeds {} to {} run, {}",
                                     wire::counted(done + done_now, "random scenario"), sweep.first_seed,
                                     sweep.last_seed, time_left.text(done + done_now, elapsed)));
    };
    std::fflush(stdout);  // workers must not print it again
    const auto batch_begin = Clock::now();
    SweptFile swept{{}, {range.first, sweep.last_seed}, 0, scenarios::sweep({}, sweep)};
    const scenarios::SweepResult& result = swept.result;
    batch.took(Clock::now() - batch_begin);
    swept.result.seeds_done = done += result.seeds_done;
    swept.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!result.error.empty()) return line.fail(kExitInternal, result.error);
    const bool is_over = sweep.last_seed == range.last || (limit && seconds() >= *limit);
    if (result.failed.empty() && !result.interrupted && !is_over) {
      first = sweep.last_seed + 1;
      continue;
    }
    progress_line.clear();
    if (!result.failed.empty() && !options.json_is_all()) fmt::print("{}", failures_text(swept));
    if (result.failed.empty() && !options.is_silent())
      fmt::print("random: {} from seed {} on, 0 failed, {} s{}\n", wire::counted(done, "scenario"), range.first,
                 seconds(), result.interrupted ? ", interrupted" : "");
    if (const auto status = write_reports(line, options, {swept})) return *status;
    if (!result.failed.empty()) return kExitNotHeld;
    return result.interrupted ? kExitInterrupted : 0;
  }
}

}  // namespace verbena::cli::run
