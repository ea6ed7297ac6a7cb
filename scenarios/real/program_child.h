// ProgramChild: one program of a scenario, running on its node: started, watched, stopped, ended, its output kept.
//
// Solely responsible for the processes that the program consists of. When to start or end it is run_real.cc's.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "emulator/host/config/launch_environment.h"
#include "emulator/host/link/shm/shm_channel.h"
#include "scenarios/real/program_mark.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::scenarios {

class ProgramChild {
 public:
  struct Options {
    std::vector<std::string> arguments;
    host::LaunchEnvironment environment;
    std::string library_directory;
    std::string output_path;  // NAME.out and NAME.err are added to it; empty: kept in memory
  };
  /// An error is one line.
  static Result<ProgramChild, std::string> start(const Options& options, Time now);
  ~ProgramChild();
  ProgramChild(ProgramChild&& other) noexcept;
  ProgramChild& operator=(ProgramChild&& other) noexcept;

  /// Looks whether it has ended, without waiting.
  bool ended();
  /// Exit status, or 128 + the signal that killed it, as a shell has it; once ended.
  int status() const { return status_; }
  /// Whether clients may start: it listens on a TCP port or by rdma_cm, or has said something a while ago and not
  /// listened since, or has ended.
  bool is_ready(Time now) const;
  /// To all the program's processes, and those that they make meanwhile.
  void send_signal(int number) const;
  /// To those that stand on the node by their rank, not to their launcher.
  void send_signal_on(const wire::Gid& node, int number) const;
  /// SIGTERM, patience, SIGKILL; waits. Also for what the program left running.
  void end();
  /// The first half of it, without patience: for several that are to end at one time.
  void ask_to_end();
  /// What it wrote to both.
  std::string output() const;
  /// The last few lines of one of them, bounded.
  enum class Stream : std::uint8_t { out, err };
  std::vector<std::string> last_lines(Stream stream) const;
  /// What it wrote to one of them, and how much to both.
  std::string output_of(Stream stream) const;
  std::uint64_t output_bytes() const;

 private:
  ProgramChild() = default;
  bool listens() const;
  bool has_spoken() const;

  pid_t process_ = -1;  // and its group
  ProgramMark mark_;
  bool ended_ = false;
  bool was_asked_ = false;  // to end
  int status_ = 0;
  Time started_{};
  host::Descriptor out_;
  host::Descriptor err_;
};

}  // namespace verbena::scenarios
