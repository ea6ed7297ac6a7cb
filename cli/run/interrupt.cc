#include "cli/run/interrupt.h"

#include <csignal>

namespace verbena::cli::run {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int signal) {
  stop.store(true, std::memory_order_relaxed);
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
}

}  // namespace

const std::atomic<bool>& interrupted() {
  return stop;
}

void install_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace verbena::cli::run
