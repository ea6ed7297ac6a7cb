// The page on faults: `verbena help fault` and docs/faults.md; and its words for programs.
//
// Solely what stands between the words; the words and their meaning are those of the tables that read them:
// fabric/fault_words.h, fabric/element_rows.h, host/fabric_process/fabric_commands.h, scenarios/language/fault_words.h,
// fabric/quantity.h.
// Tested by: tests/cli/help_test.cc
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "cli/help/page.h"
#include "emulator/fabric/element_rows.h"
#include "emulator/fabric/fault_rows.h"

namespace verbena::cli::help {

/// What the page is made from; others than Verbena's own for tests.
struct FaultTables {
  const fabric::FaultTable& packets = fabric::fault_table();
  std::span<const fabric::ElementRow> elements = fabric::element_rows();
};

Page fault_page(const FaultTables& tables = {});
/// The words of a running fabric with what undoes each, and those of packet faults: `verbena help fault --json`, for
/// programs.
nlohmann::ordered_json fault_words(const FaultTables& tables = {});

}  // namespace verbena::cli::help
