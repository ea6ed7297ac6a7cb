#include "cli/run/options.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace verbena::cli::run {
namespace {

constexpr std::uint64_t kSeedsMax = 1'000'000;
constexpr std::uint64_t kJobsMax = 256;
constexpr std::uint64_t kSecondsMax = 31 * 86'400;

std::optional<SeedRange> parse_seeds(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto first = parse_number(std::string_view(text).substr(0, dots), 0, UINT64_MAX - 1);
  const auto last = parse_number(std::string_view(text).substr(dots + 2), 0, UINT64_MAX - 1);
  if (!first || !last || *last < *first) return std::nullopt;
  return SeedRange{*first, *last};
}

/// What --list and --check have nothing to do with.
std::optional<std::string> find_odd_options(const Options& options) {
  if (!options.list && !options.check) return std::nullopt;
  const char* const name = options.list ? "--list" : "--check";
  if (options.list && options.check) return "--list and --check exclude each other: leave one of them out";
  if (options.list && !options.files.empty()) return "--list takes no FILE: it lists what came with Verbena";
  for (const auto& [given, other] : {std::pair{!options.seeds.empty(), "--seeds"},
                                     {options.random, "--random"},
                                     {!options.out.empty(), "--out"},
                                     {!options.junit.empty(), "--junit"},
                                     {options.shrink, "--shrink"}})
    if (given) return fmt::format("{} runs nothing: leave {} out", name, other);
  return std::nullopt;
}

}  // namespace

void declare(CommandLine& line, Options& options) {
  line.arguments("FILE", options.files,
                 "scenarios, or names of those that came with Verbena; after several a table compares them");
  line.option("--seed", options.seed, "N", "seed of this run, instead of the file's");
  line.option("--seeds", options.seeds, "A..B", "run once with each seed from A to B and name those that fail");
  line.option("--jobs", options.jobs, "J", "so many runs at one time with --seeds; the number of processors");
  line.flag("--random", options.random,
            "no FILE: random scenarios, one for each seed of --seeds, until one fails; --seed: that one");
  line.option("--for", options.seconds, "SECONDS", "end --random after so many seconds");
  line.option("--out", options.out, "DIR", "write captures, counters over time, event trace and summary to DIR");
  line.option("--json", options.json, "FILE|-",
              "write the summary to FILE, or instead of the report to standard output");
  line.option("--junit", options.junit, "FILE", "write what held and what did not to FILE, as JUnit's XML");
  line.flag("--shrink", options.shrink, "of a run that fails, find the fewest faults that still make it fail");
  line.flag("--check", options.check, "read each FILE and say what it would do; nothing runs");
  line.flag("--list", options.list, "the scenarios that came with Verbena");
  line.flag("--quiet", options.quiet, "print nothing where all expectations hold");
  line.exit_status("0", "all expectations held");
  line.exit_status("1", "one did not");
  line.exit_status("130", "Ctrl-C");
  line.example("verbena run topology-ring-link", "one of Verbena's own; FILE is a file of yours, or such a name");
}

std::optional<std::string> find_error(const Options& options) {
  if (const auto error = find_odd_options(options)) return error;
  if (options.list) return std::nullopt;
  if (!options.random && options.files.empty()) return "FILE is required (see verbena run --help)";
  if (options.random && !options.files.empty()) return "--random makes its own scenarios: leave FILE out";
  if (options.random && options.seed.empty() && options.seeds.empty())
    return "--random needs --seed or --seeds: --seeds 1..1000, for example";
  if (options.soaks() && options.shrink) return "--shrink needs a single run: give --seed";
  if (!options.seconds.empty() && !options.soaks())
    return "--for needs --random and --seeds: give both, or leave it out";
  if (!options.seconds.empty() && !soak_seconds(options))
    return fmt::format("--for {}: not a number of seconds from 1 to {}", options.seconds, kSecondsMax);
  if (!options.seed.empty() && !options.seeds.empty())
    return "--seed and --seeds exclude each other: leave one of them out";
  if (!options.seed.empty() && !parse_number(options.seed, 0, UINT64_MAX))
    return fmt::format("--seed {}: not a whole number such as 7", options.seed);
  if (!options.seeds.empty()) {
    const auto range = parse_seeds(options.seeds);
    if (!range) return fmt::format("--seeds {}: not a range such as 1..1000", options.seeds);
    if (range->last - range->first >= kSeedsMax)
      return fmt::format("--seeds {}: more than {} seeds: take fewer, and the rest in another run", options.seeds,
                         kSeedsMax);
    if (!options.out.empty()) return "--out needs a single run: leave --seeds out";
  }
  if (options.json_is_all() && options.shrink)
    return "--json - has standard output for itself: leave --shrink out, or name a file";
  if (!options.jobs.empty() && options.seeds.empty()) return "--jobs needs --seeds: a range such as 1..1000";
  if (!options.jobs.empty() && !parse_number(options.jobs, 1, kJobsMax))
    return fmt::format("--jobs {}: not a number from 1 to {}", options.jobs, kJobsMax);
  return std::nullopt;
}

SeedRange seed_range(const Options& options) {
  return parse_seeds(options.seeds).value_or(SeedRange{});
}

std::optional<std::uint64_t> soak_seconds(const Options& options) {
  return parse_number(options.seconds, 1, kSecondsMax);
}

unsigned job_count(const Options& options) {
  if (const auto jobs = parse_number(options.jobs, 1, kJobsMax)) return static_cast<unsigned>(*jobs);
  return std::clamp(std::thread::hardware_concurrency(), 1u, static_cast<unsigned>(kJobsMax));
}

}  // namespace verbena::cli::run
