// Trial: one run of the program, and of its server or client, under one plan of faults: started, watched, ended.
//
// Solely what happened. What it is worth is verdict.h's. All processes are gone when a Trial is destroyed.
// Tested by: tests/programs/exhaust.py
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/exec/crash_report.h"
#include "cli/exec/leaks_report.h"
#include "cli/exec/stats_report.h"
#include "emulator/host/config/launch_environment.h"
#include "scenarios/real/program_child.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::cli::exhaust {

/// What all runs have in common.
struct Setting {
  std::vector<std::string> program;
  std::vector<std::string> server;  // empty: there is none
  std::vector<std::string> client;
  std::string nic;                 // as the user says it
  host::LaunchEnvironment device;  // what its devices are like: `nic`, `devices` and `device_name` of it count
  std::string seed;
  std::string library_directory;

  std::uint32_t program_node() const { return server.empty() ? 1 : 2; }
};

/// When a run hangs.
struct Patience {
  Duration silence{};  // without a call, a packet, a completion or an octet of output
  Duration whole{};
};

struct Ended {
  int status = 0;        // the program's, as a shell has it; of one that was ended because it hung: what that gave
  int other_status = 0;  // its client's
  bool hung = false;
  bool other_hung = false;  // ... though the program had ended: its client did
  bool was_silent = false;  // when it hung: it did nothing
  std::string crash;        // the report of each process that crashed
  bool other_crashed = false;
  std::string out;                  // standard output, as if its nodes were 1 and 2
  std::string last_lines;           // of both outputs
  std::uint64_t left = 0;           // objects of verbs
  std::string leaks;                // the report
  std::vector<std::uint64_t> hits;  // of each fault, in their order
  Duration took{};
  Duration longest_silence{};
};

class Trial {
 public:
  /// `pair`: its nodes are 1 + 2 * pair and the next one. `faults`: the hits of all are told, and those behind the
  /// first `others` are looked at for life. An error is one line.
  static Result<Trial, std::string> start(const Setting& setting, std::vector<std::string> faults, std::size_t others,
                                          std::uint32_t pair, const Patience& patience);

  /// Looks, without waiting. A value: it is over.
  std::optional<Ended> look();

  static constexpr std::uint32_t kPairs = 126;

 private:
  struct Reports {
    StatsReport stats;
    LeaksReport leaks;
    CrashReport crashes;
    CrashReport other_crashes;
  };
  Trial() = default;
  Result<void, std::string> start_program(std::uint32_t node, const std::vector<std::string>& words, bool is_other);
  std::string own_words(std::string text) const;
  std::string usual_words(std::string text) const;
  bool is_over();
  Ended end(bool hung, bool silent);
  std::uint64_t life() const;

  const Setting* setting_ = nullptr;
  std::vector<std::string> faults_;
  std::size_t others_ = 0;
  std::uint32_t pair_ = 0;
  Patience patience_;
  std::unique_ptr<Reports> reports_;
  std::optional<scenarios::ProgramChild> program_;
  std::optional<scenarios::ProgramChild> other_;  // server or client
  Time started_{};
  Time last_sign_{};
  std::uint64_t signs_ = 0;
  Duration longest_silence_{};
};

}  // namespace verbena::cli::exhaust
