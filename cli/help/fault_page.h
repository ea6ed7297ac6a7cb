// The page on faults: `verbena help fault` and docs/faults.md; and its words for programs.
//
// Solely what stands between the words; the words and their meaning are those of the tables that read them:
// fabric/fault_words.h, host/fabric_process/fabric_commands.h, scenarios/language/fault_words.h, fabric/quantity.h.
// Tested by: tests/cli/help_test.cc
#pragma once

#include <nlohmann/json.hpp>

#include "cli/help/page.h"

namespace verbena::cli::help {

Page fault_page();
/// The words of a running fabric with what undoes each, and those of packet faults: `verbena help fault --json`, for
/// programs.
nlohmann::ordered_json fault_words();

}  // namespace verbena::cli::help
