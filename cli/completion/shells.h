// The scripts by which shells ask `verbena complete`: small, for all that they ask is answered there.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <optional>
#include <string_view>

#include "cli/completion/candidate.h"

namespace verbena::cli::completion {

/// Those that there is a script for.
Candidates shells();
/// Nothing: there is no such shell.
std::optional<std::string_view> script_of(std::string_view shell);

}  // namespace verbena::cli::completion
