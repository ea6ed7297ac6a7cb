// Running a program under Verbena: its environment, and the two ways to start it.
//
// Solely responsible for writing the environment (emulator/host/environment.h names and reads it) and for finding
// Verbena's own libraries. Knows nothing of options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace verbena::cli {

/// Already validated. An empty text or vector is a variable that is not set.
struct LaunchPlan {
  std::string fabric;
  std::string node;
  std::string link;
  std::string capture_path;  // absolute
  std::string capture_snap_bytes;
  std::vector<std::string> faults;
  std::string seed;
  std::string device_name;
  std::vector<std::string> program;
};

/// The directory with Verbena's libibverbs.so.1, found from where this executable lies.
std::optional<std::string> find_library_directory();

/// Sets what the libraries read, in this process, for exec() to pass on.
void set_environment(const LaunchPlan& plan, const std::string& library_directory);

/// execvp(). Returns only if it failed, with the exit status to end with and the reason in `error`.
int replace_process(const std::vector<std::string>& program, std::string& error);

/// Forks, passes signals on, waits. Returns the child's exit status (128 + signal if one killed it).
int run_and_wait(const std::vector<std::string>& program, std::string& error);

}  // namespace verbena::cli
