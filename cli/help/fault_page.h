// The page on faults: `verbena help fault` and docs/faults.md.
//
// Solely what stands between the words; the words and their meaning are those of the tables that read them:
// fabric/fault_words.h, host/fabric_process/fabric_commands.h, scenarios/language/fault_words.h, fabric/quantity.h.
// Tested by: tests/cli/help_test.cc
#pragma once

#include "cli/help/page.h"

namespace verbena::cli::help {

Page fault_page();

}  // namespace verbena::cli::help
