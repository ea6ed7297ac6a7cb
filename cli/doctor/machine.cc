// The machine: processors, containers and their seccomp profile, whose memory one may read.
// Tested by: tests/cli/doctor_test.cc
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/doctor/probes.h"

namespace verbena::cli::doctor {
namespace {

/// Processors that a container's limit allows; 0: no limit is seen.
double allowed_by_group() {
  std::istringstream words(first_line_of("/sys/fs/cgroup/cpu.max"));
  std::string quota;
  double period = 0;
  words >> quota >> period;
  return quota.empty() || quota == "max" || period <= 0 ? 0 : std::atof(quota.c_str()) / period;
}

Finding processors() {
  Finding finding{"processors", State::ok, {}, {}, {}};
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double allowed = allowed_by_group();
  finding.found =
      std::to_string(count) + (allowed > 0 ? fmt::format(", of which the group may use {:.1f}", allowed) : "");
  if (count >= 2 && (allowed == 0 || allowed >= 2)) return finding;
  finding.state = State::limited;
  finding.follows = "two programs that poll take turns: latencies of milliseconds, and timeouts that a test may see";
  finding.remedy = "give it two or more; else take longer timeouts (verbena exec --nic timeout-min=100ms)";
  return finding;
}

Finding container() {
  Finding finding{"container", State::ok, "none is seen", {}, {}};
  for (const char* const mark : {"/.dockerenv", "/run/.containerenv"})
    if (access(mark, F_OK) == 0) finding.found = std::string("yes, by ") + mark;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Seccomp:") && line.find('2') != line.npos)
      finding.found += "; system calls are filtered (seccomp)";
  return finding;
}

/// Siblings, as two ranks of an MPI job are. Errno of the reader, or 0.
int read_a_siblings_memory() {
  static volatile char shown = 'v';
  const pid_t owner = fork();
  if (owner == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  const pid_t reader = owner > 0 ? fork() : -1;
  if (reader == 0) {
    char copy = 0;
    iovec here{&copy, 1};
    iovec there{const_cast<char*>(&shown), 1};
    _exit(process_vm_readv(owner, &here, 1, &there, 1, 0) == 1 && copy == 'v' ? 0 : errno);
  }
  int status = -1;
  if (reader > 0) waitpid(reader, &status, 0);
  if (owner > 0) {
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

Finding foreign_memory() {
  Finding finding{"reading another process's memory (process_vm_readv)", State::ok, {}, {}, {}};
  const int error = in_child(read_a_siblings_memory);
  const std::string scope = first_line_of("/proc/sys/kernel/yama/ptrace_scope");
  const std::string setting = scope.empty() ? "" : ", ptrace_scope " + scope;
  finding.found = (error == 0 ? "read" : error > 0 ? std::strerror(error) : "the try did not end") + setting;
  if (error == 0) return finding;
  finding.state = State::limited;
  finding.follows =
      "nothing of Verbena's; MPI and UCX between ranks of one node take another way, and debuggers cannot attach";
  finding.remedy = "sysctl kernel.yama.ptrace_scope=0; in a container --cap-add SYS_PTRACE";
  return finding;
}

}  // namespace

Group look_at_machine() {
  return {"Machine", {processors(), container(), foreign_memory()}};
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int in_child(int (*body)()) {
  constexpr int kSteps = 500;
  constexpr timespec kStep{0, 10'000'000};
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(body());
  }
  if (child < 0) return -1;
  int status = 0;
  for (int i = 0; i < kSteps; ++i, nanosleep(&kStep, nullptr))
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

}  // namespace verbena::cli::doctor
