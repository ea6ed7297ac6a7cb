#include "cli/run/run_scenario.h"

#include <new>

#include "emulator/host/os/shortage.h"
#include "scenarios/real/run_real.h"
#include "scenarios/virtual/run_virtual.h"

namespace verbena::cli::run {

scenarios::Outcome within_memory(const std::function<scenarios::Outcome()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    scenarios::Outcome outcome;
    outcome.end = scenarios::Outcome::End::failed;
    outcome.is_shortage = true;
    outcome.error = host::no_memory_text();
    return outcome;
  }
}

namespace {

scenarios::Outcome run_by_clock(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  switch (scenario.clock) {
    case scenarios::Clock::virtual_time:
      return scenarios::run_virtual(scenario, options);
    case scenarios::Clock::real_time:
      return scenarios::run_real(scenario, options);
  }
  return {};
}

}  // namespace

scenarios::Outcome run_scenario(const scenarios::Scenario& scenario, const scenarios::RunOptions& options) {
  return within_memory([&] { return run_by_clock(scenario, options); });
}

}  // namespace verbena::cli::run
