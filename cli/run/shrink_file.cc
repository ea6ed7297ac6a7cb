#include "cli/run/shrink_file.h"

#include <fstream>
#include <sstream>

#include "cli/run/interrupt.h"
#include "cli/run/options.h"
#include "cli/run/run_scenario.h"
#include "scenarios/search/shrink.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli::run {
namespace {

using scenarios::Outcome;
using scenarios::Scenario;

/// The texts of expectations that did not hold.
std::vector<std::string> not_held(const Outcome& outcome) {
  std::vector<std::string> texts;
  for (const auto& expectation : outcome.expectations)
    if (!expectation.held) texts.push_back(expectation.text);
  return texts;
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

std::optional<int> shrink_file(const CommandLine& line, const Scenario& scenario, const std::string& file) {
  scenarios::RunOptions run;
  run.stop = &stop_sign();
  const std::vector<std::string> original = not_held(run_scenario(scenario, run));
  if (interrupted()) {
    fmt::print("\n# {}, seed {}: interrupted before the first attempt to leave out faults\n", file, scenario.seed);
    return kExitInterrupted;
  }
  if (original.empty())
    return line.fail(
        kExitInternal,
        file + ": --shrink: the run does not fail when it is repeated: give the --seed with which it does");
  scenarios::ShrinkOptions options;
  options.fails = [&](const Scenario& candidate) {
    const auto texts = not_held(run_scenario(candidate, run));
    return !texts.empty() && texts.front() == original.front();
  };
  options.hits = [&](const Scenario& candidate) {
    scenarios::HitRecorder recorder(candidate);
    scenarios::RunOptions recorded = run;
    recorded.recorder = &recorder;
    (void)run_scenario(candidate, recorded);
    return recorder.unnamed() == 0 ? recorder.hits() : std::vector<scenarios::PacketHit>{};
  };
  options.stop = &stop_sign();
  const scenarios::Shrunk shrunk = scenarios::shrink(scenario, options);
  const std::string attempts = wire::counted(shrunk.attempts, "attempt");
  const std::string faults = scenarios::faults_yaml(shrunk.scenario, read_text(file));
  if (shrunk.was_stopped) {
    fmt::print("\n# {}, seed {}: interrupted after {}: with these faults '{}' does not hold, perhaps with fewer\n{}",
               wire::printable(file), scenario.seed, attempts, original.front(), faults);
    return kExitInterrupted;
  }
  fmt::print("\n# {}, seed {}: with these faults alone '{}' does not hold; {}{}\n{}", wire::printable(file),
             scenario.seed, original.front(), shrunk.is_minimal ? "" : "perhaps not the fewest, ", attempts, faults);
  return std::nullopt;
}

}  // namespace verbena::cli::run
