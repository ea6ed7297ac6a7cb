#include "cli/run/options.h"

#include <algorithm>
#include <thread>

namespace verbena::cli::run {
namespace {

constexpr std::uint64_t kSeedsMax = 1'000'000;
constexpr std::uint64_t kJobsMax = 256;

std::optional<SeedRange> parse_seeds(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto first = parse_number(std::string_view(text).substr(0, dots), 0, UINT64_MAX - 1);
  const auto last = parse_number(std::string_view(text).substr(dots + 2), 0, UINT64_MAX - 1);
  if (!first || !last || *last < *first) return std::nullopt;
  return SeedRange{*first, *last};
}

}  // namespace

void declare(CLI::App& app, Options& options) {
  set_usage(app, "verbena run [OPTIONS] FILE.yaml ...");
  app.add_option("FILE", options.files, "scenarios; after several a table compares them")->required();
  app.add_option("--seed", options.seed, "seed of this run, instead of the file's")->type_name("N");
  app.add_option("--seeds", options.seeds, "run once with each seed from A to B and name those that fail")
      ->type_name("A..B");
  app.add_option("--jobs", options.jobs, "so many runs at one time with --seeds; the number of processors")
      ->type_name("J");
  app.add_option("--out", options.out, "write captures, counters over time, event trace and summary to DIR")
      ->type_name("DIR");
  app.add_option("--json", options.json, "write the summary to FILE")->type_name("FILE");
  app.add_flag("--shrink", options.shrink, "of a run that fails, find the fewest faults that still make it fail")
      ->disable_flag_override();
  app.add_flag("--quiet", options.quiet, "print nothing where all expectations hold")->disable_flag_override();
}

std::optional<std::string> find_error(const Options& options) {
  if (!options.seed.empty() && !options.seeds.empty()) return "--seed and --seeds exclude each other";
  if (!options.seed.empty() && !parse_number(options.seed, 0, UINT64_MAX))
    return fmt::format("--seed {}: not a whole number", options.seed);
  if (!options.seeds.empty()) {
    const auto range = parse_seeds(options.seeds);
    if (!range) return fmt::format("--seeds {}: not a range such as 1..1000", options.seeds);
    if (range->last - range->first >= kSeedsMax)
      return fmt::format("--seeds {}: more than {} seeds", options.seeds, kSeedsMax);
    if (!options.out.empty()) return "--out needs a single run: leave --seeds out";
    if (!options.json.empty()) return "--json needs a single run: leave --seeds out";
  }
  if (!options.jobs.empty() && options.seeds.empty()) return "--jobs needs --seeds";
  if (!options.jobs.empty() && !parse_number(options.jobs, 1, kJobsMax))
    return fmt::format("--jobs {}: not a number from 1 to {}", options.jobs, kJobsMax);
  return std::nullopt;
}

SeedRange seed_range(const Options& options) {
  return parse_seeds(options.seeds).value_or(SeedRange{});
}

unsigned job_count(const Options& options) {
  if (const auto jobs = parse_number(options.jobs, 1, kJobsMax)) return static_cast<unsigned>(*jobs);
  return std::clamp(std::thread::hardware_concurrency(), 1u, static_cast<unsigned>(kJobsMax));
}

}  // namespace verbena::cli::run
