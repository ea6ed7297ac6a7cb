// The options of `verbena exhaust`: what may be said, and what is wrong with what was said.
// Tested by: tests/cli/exhaust_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exhaust/subjects.h"

namespace verbena::cli::exhaust {

struct Options {
  std::string server;  // a command line; empty: there is none
  std::string client;
  std::string only;  // kinds, by commas; empty: all
  std::string at_most = "20";
  std::string pairs;
  std::string jobs;
  std::string seed = "1";
  std::string nic;
  std::string check;
  std::string silence;
  std::string limit;
  std::string state;
  std::string share;
  std::string row;  // of a scenario; empty: all
  std::string junit;
  std::vector<std::string> merge;
  Reporting reporting;
};

void declare(CommandLine& line, Options& options);
/// One line; nothing: they are right.
std::optional<std::string> find_error(const Options& options);

// Of options that are right.
std::vector<Kind> kinds_of(const Options& options);
unsigned job_count(const Options& options);
std::uint64_t places_at_most(const Options& options);
/// Which of how many shares of the rows are this process's. One of one, unless the user or a launcher of ranks says so.
struct Share {
  std::uint64_t number = 1;
  std::uint64_t of = 1;
  /// Each row is in one share, whatever else there is.
  bool has(const std::string& row_name) const;
};
Share share_of(const Options& options);

}  // namespace verbena::cli::exhaust
