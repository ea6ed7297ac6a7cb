// Lossless note: a lossless class that nothing of a scenario sends in does nothing, and its author may not have meant
// that.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <optional>
#include <string>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

/// One line; nothing: every lossless class is used, or programs decide what they send in.
std::optional<std::string> lossless_note(const Scenario& scenario);

}  // namespace verbena::scenarios
