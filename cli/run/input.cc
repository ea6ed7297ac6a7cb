#include "cli/run/input.h"

#include "cli/scenario_file.h"
#include "scenarios/language/random_scenario.h"

namespace verbena::cli::run {

std::string random_name(std::uint64_t seed) {
  return fmt::format("random-{}", seed);
}

Result<scenarios::Scenario, scenarios::ReadError> make_random(std::uint64_t seed) {
  auto made = scenarios::read_scenario(scenarios::random_scenario(seed), random_name(seed));
  if (made) made->seed = seed;
  return made;
}

Result<scenarios::Scenario, scenarios::ReadError> read_input(const Options& options, const std::string& file) {
  if (!options.random) return read_named_scenario(file);
  return make_random(parse_number(options.seed, 0, UINT64_MAX).value_or(0));
}

}  // namespace verbena::cli::run
