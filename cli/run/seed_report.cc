#include "cli/run/seed_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/run/output.h"
#include "scenarios/outcome/shell_word.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli::run {
namespace {

using Json = nlohmann::ordered_json;
using scenarios::FailedSeed;
using scenarios::FailureCause;

constexpr std::size_t kShownOfCause = 10;
constexpr std::size_t kNamedOfCause = 20;  // more, by their seed alone
constexpr std::uint64_t kCasesMax = 10'000;

std::string name_of(const SweptFile& swept) {
  return swept.file.empty() ? "random" : swept.file;
}

Json json_of(const SweptFile& swept) {
  const scenarios::SweepResult& result = swept.result;
  Json json{{"file", name_of(swept)},          {"first_seed", swept.range.first}, {"last_seed", swept.range.last},
            {"seeds_done", result.seeds_done}, {"held", result.failed.empty()},   {"interrupted", result.interrupted},
            {"failed", Json::array()},         {"causes", Json::array()}};
  for (const FailedSeed& failed : result.failed)
    json["failed"].push_back({{"seed", failed.seed},
                              {"crashed", failed.crashed},
                              {"cause", failed.cause},
                              {"why", failed.why},
                              {"replay", replay_of(swept, failed.seed)}});
  for (const FailureCause& cause : scenarios::causes_of(result.failed)) {
    json["causes"].push_back({{"cause", cause.cause}, {"number", cause.seeds.size()}, {"seeds", Json::array()}});
    for (const FailedSeed* failed : cause.seeds) json["causes"].back()["seeds"].push_back(failed->seed);
  }
  return json;
}

/// Behind those that were told at length.
std::string others_text(const FailureCause& cause) {
  const std::size_t end = std::min(cause.seeds.size(), kShownOfCause + kNamedOfCause);
  std::string text = fmt::format("          and by the same cause {}: ",
                                 wire::counted(cause.seeds.size() - kShownOfCause, "more seed"));
  for (std::size_t i = kShownOfCause; i < end; ++i)
    text += fmt::format("{}{}", i == kShownOfCause ? "" : ", ", cause.seeds[i]->seed);
  return text + (end < cause.seeds.size() ? ", ...\n" : "\n");
}

}  // namespace

std::string replay_of(const SweptFile& swept, std::uint64_t seed) {
  return fmt::format("verbena run {} --seed {}", swept.file.empty() ? "--random" : scenarios::shell_word(swept.file),
                     seed);
}

std::string failures_text(const SweptFile& swept) {
  std::string text;
  const std::vector<FailureCause> causes = scenarios::causes_of(swept.result.failed);
  for (const FailureCause& cause : causes) {
    if (causes.size() > 1 || cause.seeds.size() > 1)
      text += fmt::format("{}: {}\n", wire::counted(cause.seeds.size(), "seed"), wire::printable(cause.cause));
    for (std::size_t i = 0; i < std::min(cause.seeds.size(), kShownOfCause); ++i) {
      const FailedSeed& failed = *cause.seeds[i];
      text += fmt::format("NOT HELD  seed {}: {}\n          {}\n", failed.seed, wire::printable(failed.why),
                          replay_of(swept, failed.seed));
    }
    if (cause.seeds.size() > kShownOfCause) text += others_text(cause);
  }
  return text;
}

std::string seeds_json(const std::vector<SweptFile>& all) {
  Json json = Json::array();
  for (const SweptFile& swept : all) json.push_back(json_of(swept));
  const Json& whole = json.size() == 1 ? json.front() : json;
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

scenarios::JunitSuite junit_of(const SweptFile& swept) {
  scenarios::JunitSuite suite{name_of(swept), swept.seconds, {}};
  auto failed = swept.result.failed.begin();
  const auto fail = [&](const FailedSeed& one) {
    suite.cases.push_back({fmt::format("seed {}", one.seed), false, one.why, replay_of(swept, one.seed)});
  };
  // Which seeds an interrupted sweep has run is not known, only how many; and a million cases are no table.
  const std::uint64_t seeds = swept.range.last - swept.range.first + 1;
  if (swept.result.interrupted || seeds > kCasesMax) {
    suite.cases.push_back({fmt::format("{} of {}", wire::counted(swept.result.seeds_done, "seed"), seeds),
                           swept.result.failed.empty(), fmt::format("{} failed", swept.result.failed.size()), ""});
    for (; failed != swept.result.failed.end(); ++failed) fail(*failed);
    return suite;
  }
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const std::uint64_t seed = swept.range.first + i;
    if (failed != swept.result.failed.end() && failed->seed == seed)
      fail(*failed++);
    else
      suite.cases.push_back({fmt::format("seed {}", seed), true, "", ""});
  }
  return suite;
}

std::optional<int> write_reports(const CommandLine& line, const Options& options, const std::vector<SweptFile>& all) {
  if (!options.json.empty())
    if (const auto status = write_output(line, "--json", options.json, seeds_json(all))) return status;
  if (options.junit.empty()) return std::nullopt;
  std::vector<scenarios::JunitSuite> suites;
  for (const SweptFile& swept : all) suites.push_back(junit_of(swept));
  return write_output(line, "--junit", options.junit, scenarios::junit_xml(suites));
}

}  // namespace verbena::cli::run
