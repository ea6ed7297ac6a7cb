// What lies on this machine that a command line can name: files, programs, Verbena's own scenarios.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/completion/candidate.h"

namespace verbena::cli::completion {

/// Files and folders that begin with `prefix`; of files those with one of the endings, or all where there are none.
Candidates files(std::string_view prefix, const std::vector<std::string_view>& endings = {});
Candidates folders(std::string_view prefix);
/// Executables of PATH.
Candidates programs(std::string_view prefix);
/// The scenarios that came with Verbena, by their names.
Candidates scenarios();
/// Those that come with Verbena.
Candidates personalities();

}  // namespace verbena::cli::completion
