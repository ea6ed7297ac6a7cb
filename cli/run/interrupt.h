// Ctrl-C and SIGTERM while runs go on: they end early and write what they have.
//
// A run that is still being set up does not look at the sign, and has nothing to write: the process then ends by itself
// within a second, with the same exit status. So what is printed between two runs is flushed.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <cstdint>

#include "scenarios/outcome/stop_sign.h"

namespace verbena::cli::run {

/// Raised once a signal has come; from install_interrupt() on. A second one ends the process at once.
const scenarios::StopSign& stop_sign();
/// The same, for who looks between runs.
bool interrupted();
/// What becomes of a signal that nobody looks at.
enum class Unseen : std::uint8_t { ends_process, waits };
void install_interrupt(Unseen unseen = Unseen::ends_process);

}  // namespace verbena::cli::run
