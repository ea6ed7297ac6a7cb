// Ctrl-C and SIGTERM while runs go on: they end early and write what they have.
#pragma once

#include <atomic>

namespace verbena::cli::run {

/// Set once a signal has come; from install_interrupt() on. A second one ends the process at once.
const std::atomic<bool>& interrupted();
void install_interrupt();

}  // namespace verbena::cli::run
