// What exhausting a program and a scenario have in common: which rows a user's options choose, and what is said and
// written at the end.
// Tested by: tests/programs/exhaust.py
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exhaust/options.h"
#include "cli/exhaust/results.h"

namespace verbena::cli::exhaust {

/// How often each subject was there without a fault.
struct Census {
  std::vector<Subject> subjects;
  std::vector<std::uint64_t> counts;
};
/// Of all subjects those that were there.
Census census_of(const std::vector<Subject>& all, const std::vector<std::uint64_t>& counts);

/// "34 calls of 18 verbs, 12 completions, 110 packets, 4 messages of the CM".
std::string counts_text(const Census& census);
/// Those of this process's share, single ones before pairs.
std::vector<Row> rows_to_run(const Census& census, const Options& options);
/// The places that --at-most leaves out, of several lines; empty: none.
std::string left_out_text(const Census& census, const Options& options);

/// Takes up the file of --state. A value: the process ends with it.
std::optional<int> keep_state(const CommandLine& line, const Options& options, Results& results);
/// Whether --junit can be written is said before anything runs. A value: it cannot.
std::optional<int> make_junit(const CommandLine& line, const Options& options);
/// Shows and writes what there is. The exit status.
int conclude(const CommandLine& line, const Options& options, const Results& results, double seconds);

}  // namespace verbena::cli::exhaust
