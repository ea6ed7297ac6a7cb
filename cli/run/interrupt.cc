#include "cli/run/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "cli/run/options.h"

namespace verbena::cli::run {
namespace {

scenarios::StopSign stop;
std::atomic<bool> has_patience{false};

/// Until a run that does not look at the sign, because it is still being set up, is ended.
constexpr itimerval kPatience{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 700'000}};

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

void on_patience_over(int) {
  if (!stop.is_seen()) _exit(kExitInterrupted);
}

void on_signal(int signal) {
  stop.raise();
  handle(signal, SIG_DFL);
  if (has_patience.load(std::memory_order_relaxed)) setitimer(ITIMER_REAL, &kPatience, nullptr);
}

}  // namespace

const scenarios::StopSign& stop_sign() {
  return stop;
}

bool interrupted() {
  return stop.look();
}

void install_interrupt(Unseen unseen) {
  has_patience = unseen == Unseen::ends_process;
  if (has_patience) handle(SIGALRM, on_patience_over);
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
}

}  // namespace verbena::cli::run
