// What came of all faults: a table, the bad ones by their cause, JSON, JUnit's XML.
//
// Solely the forms.
// Tested by: tests/cli/exhaust_test.cc
#pragma once

#include <string>

#include "cli/exhaust/results.h"
#include "scenarios/outcome/junit.h"

namespace verbena::cli::exhaust {

/// One line for each kind, one column for each outcome.
std::string table_text(const Results& results);
/// The bad rows, those with one cause together, each cause with the command that replays its first row. Empty: none.
std::string bad_text(const Results& results);
/// The errors with which the program itself has ended, each with how many rows. Empty: none.
std::string own_errors_text(const Results& results);
std::string json_text(const Results& results);
scenarios::JunitSuite junit_of(const Results& results, double seconds);

/// Whether anything was judged, and whether anything is bad.
bool is_judged(const Results& results);
bool is_any_bad(const Results& results);

}  // namespace verbena::cli::exhaust
