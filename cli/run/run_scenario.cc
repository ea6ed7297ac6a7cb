#include "cli/run/run_scenario.h"

#include "scenarios/real/run_real.h"

namespace verbena::cli::run {

scenarios::Outcome run_scenario(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  switch (scenario.clock) {
    case scenarios::Clock::virtual_time:
      return scenarios::run_virtual(scenario, options);
    case scenarios::Clock::real_time:
      return scenarios::run_real(scenario, options);
  }
  return {};
}

}  // namespace verbena::cli::run
