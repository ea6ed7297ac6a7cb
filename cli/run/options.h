// What `verbena run` was asked for.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace verbena::cli::run {

inline constexpr int kExitNotHeld = 1;
inline constexpr int kExitInterrupted = 130;  // as the shell has it: 128 + SIGINT

struct Options {
  std::vector<std::string> files;
  std::string seed;
  std::string seeds;
  std::string jobs;
  std::string out;
  std::string json;  // a file, or "-"
  std::string junit;
  std::string seconds;
  bool random = false;
  bool shrink = false;
  bool quiet = false;
  bool list = false;
  bool check = false;

  /// Standard output is for the JSON alone.
  bool json_is_all() const { return json == "-"; }
  bool is_silent() const { return quiet || json_is_all(); }

  bool sweeps() const { return !seeds.empty(); }
  bool soaks() const { return random && seed.empty(); }
};

struct SeedRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

void declare(CommandLine& line, Options& options);
/// The first thing that is wrong, as one line.
std::optional<std::string> find_error(const Options& options);
/// Of options without error.
SeedRange seed_range(const Options& options);
unsigned job_count(const Options& options);
/// How long --random goes on; nothing: until the last seed.
std::optional<std::uint64_t> soak_seconds(const Options& options);

}  // namespace verbena::cli::run
