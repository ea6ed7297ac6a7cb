#include "cli/exec/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "cli/command.h"

namespace verbena::cli {

namespace {

constexpr std::array kForwardedSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> child_pid{0};

void forward(int signal_number) {
  const pid_t pid = child_pid.load(std::memory_order_relaxed);
  if (pid > 0) kill(pid, signal_number);
}

std::vector<char*> argument_pointers(const std::vector<std::string>& program) {
  std::vector<char*> pointers;
  for (const auto& argument : program) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int replace_process(const std::vector<std::string>& program, std::string& error) {
  execvp(program[0].c_str(), argument_pointers(program).data());
  const int reason = errno;
  if (reason == ENOENT) {
    error = fmt::format("program not found: {}", program[0]);
    return kExitNotFound;
  }
  error = fmt::format("cannot run {}: {}", program[0], std::strerror(reason));
  return kExitNotExecutable;
}

int run_and_wait(const std::vector<std::string>& program, std::string& error) {
  // Held back until the child's pid is known, so that no signal is swallowed in between.
  sigset_t forwarded;
  sigset_t before;
  sigemptyset(&forwarded);
  for (const int number : kForwardedSignals) sigaddset(&forwarded, number);
  sigprocmask(SIG_BLOCK, &forwarded, &before);

  int failure_pipe[2];  // carries the exit status and errno text of an exec that failed
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) {
    error = fmt::format("pipe: {}", std::strerror(errno));
    return kExitInternal;
  }
  const pid_t pid = fork();
  if (pid < 0) {
    error = fmt::format("fork: {}", std::strerror(errno));
    return kExitInternal;
  }
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    const int status = replace_process(program, error);
    [[maybe_unused]] const ssize_t written = write(failure_pipe[1], error.data(), error.size());
    _exit(status);
  }
  child_pid.store(pid, std::memory_order_relaxed);
  close(failure_pipe[1]);
  for (const int number : kForwardedSignals) {
    struct sigaction before_action{};
    sigaction(number, nullptr, &before_action);
    if (before_action.sa_handler == SIG_IGN) continue;  // nohup and background jobs stay as they are
    struct sigaction action{};
    action.sa_handler = forward;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);

  char text[512];
  const ssize_t size = read(failure_pipe[0], text, sizeof text);
  close(failure_pipe[0]);
  if (size > 0) error.assign(text, static_cast<std::size_t>(size));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  child_pid.store(0, std::memory_order_relaxed);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace verbena::cli
