#include "cli/run/run_scenario.h"

namespace verbena::cli::run {

scenarios::Outcome run_scenario(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  switch (scenario.clock) {
    case scenarios::Clock::virtual_time:
      return scenarios::run_virtual(scenario, options);
    case scenarios::Clock::real_time:
      break;
  }
  scenarios::Outcome outcome;
  outcome.end = scenarios::Outcome::End::failed;
  outcome.error = "1:1: clock: real cannot be run here";
  outcome.is_users_error = true;
  return outcome;
}

}  // namespace verbena::cli::run
