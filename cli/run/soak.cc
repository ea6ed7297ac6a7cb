#include "cli/run/soak.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "cli/run/input.h"
#include "cli/run/interrupt.h"
#include "scenarios/run/sweep.h"

namespace verbena::cli::run {
namespace {

using Clock = std::chrono::steady_clock;
using scenarios::Outcome;

constexpr std::uint64_t kSeedsAtOnce = 64;  // between two looks at the clock

}  // namespace

Outcome run_random(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  const auto made = make_random(scenario.seed);
  if (made) return scenarios::run_virtual(*made, options);
  Outcome outcome;
  outcome.end = Outcome::End::failed;
  outcome.error = made.error().line();
  return outcome;
}

int soak(const CommandLine& line, const Options& options, const scenarios::SweepRunner& runner) {
  install_interrupt();
  const SeedRange range = seed_range(options);
  const auto begin = Clock::now();
  const auto limit = soak_seconds(options);
  const bool terminal = !options.quiet && isatty(STDOUT_FILENO) == 1;
  std::uint64_t done = 0;
  const auto seconds = [&] {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
  };
  for (std::uint64_t first = range.first;;) {
    scenarios::SweepOptions sweep;
    sweep.first_seed = first;
    sweep.last_seed = first + std::min(range.last - first, kSeedsAtOnce - 1);
    sweep.jobs = job_count(options);
    sweep.stop = &interrupted();
    sweep.run = runner;
    std::fflush(stdout);  // workers must not print it again
    const scenarios::SweepResult result = scenarios::sweep({}, sweep);
    done += result.seeds_done;
    if (!result.error.empty()) return line.fail(kExitInternal, result.error);
    if (terminal)
      fmt::print("\r{} random scenarios held, the last of seed {}, {} s\033[K", done, sweep.last_seed, seconds());
    if (terminal && !result.failed.empty()) fmt::print("\n");
    for (const scenarios::FailedSeed& failed : result.failed)
      fmt::print("NOT HELD  seed {}: {}\n          verbena run --random --seed {}\n", failed.seed, failed.why,
                 failed.seed);
    if (!result.failed.empty()) return kExitNotHeld;
    const bool is_over = sweep.last_seed == range.last || (limit && seconds() >= *limit);
    if (result.interrupted || is_over) {
      if (!options.quiet)
        fmt::print("{}random: {} scenarios from seed {} on, 0 failed, {} s{}\n", terminal ? "\r\033[K" : "", done,
                   range.first, seconds(), result.interrupted ? ", interrupted" : "");
      return result.interrupted ? kExitInterrupted : 0;
    }
    first = sweep.last_seed + 1;
  }
}

}  // namespace verbena::cli::run
