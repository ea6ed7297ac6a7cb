// run_pair(): a server and its client, two programs on nodes 1 and 2 of a fabric of their own, to their end.
//
// Solely the running: fabric, port, patience, counters. Nothing that it starts outlives it. What is run, and what its
// output means, is programs.h's.
// Tested by: tests/cli/init_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wire/result.h"

namespace verbena::cli::demo {

struct PairOptions {
  std::vector<std::string> program;  // "{port}" stands for a free TCP port; the client gets the server's address behind
  std::vector<std::string> faults;   // of both nodes
  std::string capture_of_server;     // absolute; empty: none
  std::string capture_of_client;
  std::function<void()> waiting;  // called while they run, some hundred times a second
};

struct PairResult {
  std::string output;                             // the client's
  std::map<std::string, std::uint64_t> counters;  // of both nodes together
};

inline constexpr const char* kSeed = "7";

/// An error is one line or, of a program that failed, its output.
Result<PairResult, std::string> run_pair(const PairOptions& options);

}  // namespace verbena::cli::demo
