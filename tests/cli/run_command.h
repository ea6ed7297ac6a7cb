// Runs a program for a test: its exit status and what it printed. Ends it after a bounded time.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace verbena::test {

struct Finished {
  int status = -1;  // exit status, or 128 + the signal
  std::string out;
  std::string err;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

inline Finished run_command(const std::vector<std::string>& command, const Environment& environment = {},
                            std::chrono::seconds patience = std::chrono::seconds(30)) {
  int out[2];
  int err[2];
  Finished finished;
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return finished;
  const pid_t pid = fork();
  if (pid == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<pollfd, 2> waiting{pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) <= 0) {
      kill(pid, SIGKILL);
      break;
    }
    for (auto& stream : waiting) {
      if (stream.fd < 0 || stream.revents == 0) continue;
      std::array<char, 4096> bytes;
      const ssize_t size = read(stream.fd, bytes.data(), bytes.size());
      std::string& into = stream.fd == out[0] ? finished.out : finished.err;
      if (size > 0)
        into.append(bytes.data(), static_cast<std::size_t>(size));
      else
        stream.fd = -1;
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  finished.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return finished;
}

}  // namespace verbena::test
